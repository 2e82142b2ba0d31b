# `make help` lists what there is. Needs Go and make; CGO is never used.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION)
ARGS ?=
FUZZTIME ?= 20s

.PHONY: help build arm64 run test race bench fuzz lint generate clean

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

build: ## bin/hearth for this machine
	go build -ldflags '$(LDFLAGS)' -o bin/hearth .

arm64: ## bin/hearth-linux-arm64, for a Jetson
	GOOS=linux GOARCH=arm64 go build -ldflags '$(LDFLAGS)' -o bin/hearth-linux-arm64 .

run: build ## start the appliance on the embedded demo model
	./bin/hearth serve $(ARGS)

test: ## all tests
	go test ./...

race: ## the concurrent parts under the race detector (needs a C compiler)
	CGO_ENABLED=1 go test -race ./appliance ./appliance/command ./appliance/e2e ./console ./engine ./engine/tokenizer ./persist
	CGO_ENABLED=1 go test -race -run 'Pool|Threads|Meet|Cancel' ./engine/cpu

bench: build ## decode and prefill beside their yardsticks, in one run
	@for shape in qwen3.5-0.8b qwen3.5-0.8b-w4a16; do \
	  ./bin/hearth bench decode --shape $$shape $(ARGS) && ./bin/hearth bench prefill --shape $$shape $(ARGS) || exit 1; \
	done

fuzz: ## every fuzz target for FUZZTIME
	@for pkg in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$pkg | grep ^Fuzz); do \
	    echo "$$pkg $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
	  done; done

lint: ## vet, staticcheck, formatting
	go vet ./...
	go tool staticcheck ./...
	@test -z "$$(gofmt -l . | tee /dev/stderr)"

generate: ## templ pages
	go tool templ generate -path console

clean: ## built files
	rm -rf bin
