/* Search in pages that are opened from a folder. A browser starts no worker from a file, so the worker's script runs in
   an empty frame. The theme looks for the name IFrameWorker. */
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.appendChild(this.frame)
      const inside = this.frame.contentWindow
      inside.document.open()
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.ready = new Promise(start => this.frame.addEventListener("load", start))
      inside.document.write(`<script src="${new URL(url, location.href)}"></` + "script>")
      inside.document.close()
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() {
      this.frame.remove()
    }
  }
  window.Worker = window.IFrameWorker
}
