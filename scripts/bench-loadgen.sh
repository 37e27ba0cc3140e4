#!/bin/sh
# Measures loadgen on one core beside wrk and vegeta, and prints a table of
# medians. wrk is used when it is installed (apt-get install wrk); vegeta is built
# for the occasion, and left out when it cannot be fetched.
set -eu
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM
CGO_ENABLED=0 go build -o "$dir/loadgen" ./cmd/loadgen
GOBIN="$dir" GOFLAGS=-mod=mod go install github.com/tsenart/vegeta/v12@v12.13.0 >"$dir/log" 2>&1 ||
	echo "vegeta could not be built: $(tail -n 1 "$dir/log")" >&2
PATH="$dir:$PATH" "$dir/loadgen" bench "$@"
