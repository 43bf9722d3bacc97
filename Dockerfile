# One image with both programs: /worker, which runs by default, and /rollup.
#
#   docker build --build-arg REVISION="$(git rev-parse HEAD)" -t ordertally .
#   docker run ordertally            # the worker
#   docker run ordertally /rollup show

ARG GO_VERSION=1.26.8

FROM --platform=$BUILDPLATFORM golang:${GO_VERSION}-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd ./cmd
COPY internal ./internal
ARG TARGETOS TARGETARCH
ARG REVISION=unknown
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false \
    -ldflags="-s -w -X github.com/atlasmart/ordertally/internal/telemetry.revision=$REVISION" \
    -o /out/ ./cmd/worker ./cmd/rollup

# Nothing but the programs and the certificates of Google's servers: no shell, no package to patch.
# The time zones are inside the programs (time/tzdata). They write no file, so the root may be
# read-only.
FROM scratch
ARG REVISION=unknown
LABEL org.opencontainers.image.title="ordertally" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/worker /out/rollup /
# A number, since Kubernetes cannot tell whether a name is root (runAsNonRoot).
USER 65532:65532
EXPOSE 8080
CMD ["/worker"]
