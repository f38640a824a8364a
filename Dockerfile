# difsim on the CPU, with its studies, where no Python is installed: on a cluster, or to repeat a result.
#   docker build -t difsim .
#   docker run --rm -v "$PWD/results:/work/results" difsim hopper --quick
FROM python:3.12-slim
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE CITATION.cff ./
COPY difsim difsim
COPY inversion inversion
COPY experiments experiments
COPY data data
RUN pip install --no-cache-dir -c constraints.txt ".[studies]"
WORKDIR /work
ENTRYPOINT ["difsim"]
