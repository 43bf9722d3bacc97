# `make help` lists the targets. Two of them are enough for a start: make demo, make test.

GO          ?= go
BIN         := bin
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
FUZZTIME    ?= 20s

.PHONY: help build demo up test short torture torture-test exactness bench bench-quick \
	bench-long mutate check fmt vet staticcheck tidy govulncheck fuzz cover deploy-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build all programs into bin/
	$(GO) build -o $(BIN)/ ./cmd/... ./bench

demo: build ## forty orders, delivered twice, become one total of 40, on Google's emulators
	$(BIN)/demo run -bin $(BIN)

up: build ## the same, and stays until Ctrl-C
	$(BIN)/demo up -bin $(BIN)

test: ## every test, with the race detector, on one pair of emulators
	$(GO) run ./cmd/demo exec -- $(GO) test -race -shuffle=on ./...

short: ## the tests that need no emulator
	$(GO) test -race -shuffle=on -short ./...

TIME        ?= 10m
SEED        ?= 0

torture: build ## workers killed, stopped and soaked in faults, for TIME=10m; SEED=n tells a run again
	$(BIN)/torture kill -bin $(BIN) -seed $(SEED)
	$(BIN)/torture term -bin $(BIN) -seed $(SEED)
	$(BIN)/torture soak -bin $(BIN) -seed $(SEED) -time $(TIME)

torture-test: ## the tests of the torture itself, which take minutes
	ORDERTALLY_TORTURE=1 $(GO) run ./cmd/demo exec -- $(GO) test -race -v ./cmd/torture

EVIDENCE    := $(abspath $(BIN))/evidence.jsonl

exactness: build ## all tests and torture, recorded in the table of docs/exactness.md
	rm -f $(EVIDENCE)
	ORDERTALLY_EVIDENCE=$(EVIDENCE) \
	  $(GO) run ./cmd/demo exec -- $(GO) test -count=1 -race -shuffle=on ./...
	ORDERTALLY_EVIDENCE=$(EVIDENCE) $(MAKE) torture TIME=2m
	$(GO) run ./internal/evidence/render $(EVIDENCE) docs/exactness.md

bench: build ## the lab: the product beside the textbook, five rounds on fresh emulators
	$(BIN)/bench -rounds 5 -plot bench/results.svg | tee bench/results.txt

bench-quick: build ## the same in under a minute, for a rough look
	$(BIN)/bench -rounds 1 -scale 0.2

bench-long: build ## cost growth and the worker's memory over 200,000 orders
	$(BIN)/bench -long -rounds 1 -worker $(BIN)/worker

mutate: ## break the code in small ways, and want a test to notice each
	$(GO) run ./cmd/demo exec -- $(GO) run ./cmd/mutate

check: fmt vet staticcheck tidy govulncheck ## all that is checked without running

fmt: ## fail where gofmt would change something
	@out=$$(gofmt -l .); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi

vet: ## go vet
	$(GO) vet ./...

staticcheck: ## staticcheck, all checks that style asks for
	$(GO) run $(STATICCHECK) -checks inherit,ST1016,ST1020,ST1021,ST1022,-ST1003 ./...

tidy: ## fail where go mod tidy would change something
	$(GO) mod tidy -diff

govulncheck: ## known vulnerabilities in what is called; needs https://vuln.go.dev
	$(GO) run $(GOVULNCHECK) ./...

fuzz: ## each fuzz target for FUZZTIME
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$p || exit 1; \
	  done; done

cover: ## coverage by function
	$(GO) run ./cmd/demo exec -- $(GO) test -coverprofile=coverage.out ./...
	$(GO) tool cover -func=coverage.out | tail -40

deploy-check: ## what can be checked of deploy/ without a cloud; needs terraform and kubectl
	terraform fmt -check -recursive -diff deploy/terraform
	cd deploy/terraform/settings && terraform init -backend=false -input=false >/dev/null && terraform test
	kubectl kustomize deploy/k8s >/dev/null
	bash -n deploy/cloudrun/apply.sh
	cd deploy/check && $(GO) test ./...
	$(GO) test -short ./deploy

clean: ## remove what build made
	rm -rf $(BIN) coverage.out
