# Needs Python 3.11+ and nothing else; `make help` lists the verbs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Where `make vscode` keeps VS Code; about 900 MB.
VSC ?= .vscode-test
# Without bytecode every start, and there are thousands in the tests, compiles the whole package anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup web run check format test bench cluster wire-cluster soak vscode dist docs reference pictures clean

help:  ## list the verbs
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup:  ## create .venv, install everything into it, build the web page
	@$(PYTHON) -m tools.setup dev

web:  ## build the web page alone, and say what is wrong
	@$(PYTHON) tools/web.py build

run:  ## run a host on this machine (ARGS="--port 9000" adds options)
	@$(PYTHON) -m tools.setup run
	@$(BIN)/agenthost serve $(ARGS)

check: setup  ## lint, format check, strict types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/web.py lint

format: setup  ## apply formatting and safe lint fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: setup check  ## everything CI runs: checks, then the tests (THOROUGH=1: more random examples)
	$(BIN)/python tools/web.py test
	@$(BIN)/python tools/browser.py
	@$(BIN)/python -m tools.suite

bench: setup  ## print benchmark figures
	$(BIN)/python -m benchmarks

cluster: setup  ## run three nodes and three NATS servers here (ARGS=--fresh begins with nothing)
	@$(BIN)/python -m tools.cluster $(ARGS)

wire-cluster: setup  ## run the tests of the protocol against a node of a cluster, and those of stores
	AGENTHOST_TEST_CLUSTER=1 $(BIN)/pytest tests/wire tests/cluster/owner/test_contract_on_a_realm.py $(ARGS)

soak: setup  ## kill the host again and again, report losses (ARGS="--rounds 9", ARGS=--attacks, ARGS=--cluster)
	$(BIN)/python -m soak $(ARGS)

vscode: setup  ## run the real VS Code in Chromium against the host, say what was seen
	@$(BIN)/python -m interop.vscode.prepare $(VSC)
	@$(VSC)/venv/bin/python -m interop.vscode $(VSC) --agenthost $(BIN)/agenthost $(ARGS)

dist: setup  ## build what is released into dist, and try it in an environment of its own
	@$(BIN)/python -m tools.dist

docs:  ## build the documentation site
	@$(PYTHON) -m tools.setup docs
	@$(BIN)/python -m tools.docs

reference: setup  ## write docs/reference.md anew from the code
	@$(BIN)/python -m tools.reference

pictures: setup  ## take the documents' pictures of the terminal anew (needs tmux)
	@$(BIN)/python -m tools.pictures

clean:  ## remove what the targets created
	rm -rf $(VENV) web/node_modules agenthost/web build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .vscode-test .cluster
	find . -name __pycache__ -prune -exec rm -rf {} +
