# The service alone, as a user without rights; the data directory is a volume.
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip wheel --no-cache-dir --wheel-dir /wheels ".[serve,text]"

FROM python:3.12-slim
RUN useradd --create-home milepost && mkdir /house && chown milepost /house
RUN --mount=from=build,source=/wheels,target=/wheels pip install --no-cache-dir --no-index --find-links /wheels "milepost[serve,text]"
USER milepost
VOLUME /house
EXPOSE 8000
HEALTHCHECK CMD python -c "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/v1/health')"
CMD ["milepost", "serve", "--data-dir", "/house", "--host", "0.0.0.0"]
