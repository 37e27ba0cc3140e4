# Everything here runs as a user would run it by hand; `make help` lists the targets.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

SECONDHOP := bin/secondhop
GO_FILES := $(shell git ls-files '*.go' go.mod go.sum 2>/dev/null)
# The Kubernetes version of the lab; any that `secondhop image build` accepts.
KUBERNETES ?= 1.34.4
ARTIFACTS ?= artifacts
# What `go test -run` gets; empty means the whole suite.
RUN ?=
export KUBERNETES ARTIFACTS

.PHONY: help
help: ## This list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "%-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# The flags of the images of our own programs: client-go is then compiled once.
STATIC := CGO_ENABLED=0 go build -trimpath

$(SECONDHOP): $(GO_FILES)
	@$(STATIC) -o $@ ./cmd/secondhop

# A program of its own rather than `go test`: Ctrl-C reaches it, and its exit code
# is the verdict's.
bin/e2e.test: $(GO_FILES)
	@CGO_ENABLED=0 go test -trimpath -tags e2e -c -o $@ ./e2e

.PHONY: doctor
doctor: $(SECONDHOP) ## Check this machine and mend what can be mended
	$(SECONDHOP) doctor --fix

.PHONY: lint
lint: ## gofmt, go vet, staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "gofmt -w $$unformatted"; exit 1; fi
	go vet ./...
	go vet -tags e2e ./e2e/...
	go tool staticcheck -tags e2e ./...

.PHONY: test
test: doctor lint ## Everything that needs no cluster: unit, property, HAProxy and link tests, with -race
	$(SECONDHOP) image binaries --kubernetes $(KUBERNETES)
	SECONDHOP_ENVTEST="$$($(SECONDHOP) image binaries --kubernetes $(KUBERNETES) --quiet)" go test -race -timeout 15m ./...

.PHONY: rules
rules: ## Rules for Prometheus, with its own engine on recorded scrapes; a module of its own
	go -C fixtures/monitoring/check test ./...

.PHONY: image
image: doctor ## The node image: found, pulled, or assembled from source
	$(SECONDHOP) image build --kubernetes $(KUBERNETES)

.PHONY: e2e
e2e: image bin/e2e.test ## The whole suite on a real cluster with shaped links
	bin/e2e.test -test.v -test.timeout 60m $(if $(RUN),-test.run '$(RUN)')

.PHONY: smoke
smoke: image bin/e2e.test ## The shortest proof, on the running lab if there is one, which it keeps
	SECONDHOP_KEEP=1 bin/e2e.test -test.v -test.timeout 20m -test.run '^TestSmoke$$'

.PHONY: compare
compare: image ## Every strategy on four placements, measured beside expected
	$(SECONDHOP) compare --kubernetes $(KUBERNETES) --artifacts $(ARTIFACTS)

.PHONY: incidents
incidents: image ## Plays every incident of the library and lists their verdicts
	$(SECONDHOP) incidents --run --artifacts $(ARTIFACTS)

.PHONY: down
down: $(SECONDHOP) ## Remove the lab
	$(SECONDHOP) down

.PHONY: bench
bench: doctor ## Every figure that the project states, measured on this machine
	scripts/bench
