# Needs Python 3.11+ and nothing else; `make help` lists the verbs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# Where `make vscode` keeps VS Code; about 900 MB.
VSC ?= .vscode-test

.PHONY: help setup web run check format test bench soak vscode clean

help:  ## list the verbs
	@awk -F':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## create .venv, install everything into it, build the web page
	@$(BIN)/python tools/web.py build --lenient

web: $(STAMP)  ## build the web page alone, and say what is wrong
	@$(BIN)/python tools/web.py build

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("agenthost needs Python 3.11 or newer; set PYTHON=...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	$(BIN)/python -m compileall -q agenthost
	@touch $(STAMP)

run: setup  ## run a host on this machine (ARGS="--port 9000" adds options)
	@$(BIN)/agenthost serve $(ARGS)

check: setup  ## lint, format check, strict types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/web.py lint

format: setup  ## apply formatting and safe lint fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: setup check  ## everything CI runs: checks, then the tests
	$(BIN)/python tools/web.py test
	@$(BIN)/python tools/browser.py
	$(BIN)/pytest -n auto --dist worksteal

bench: setup  ## print benchmark figures
	$(BIN)/python -m benchmarks

soak: setup  ## kill the host again and again, report losses (ARGS="--rounds 9", ARGS=--attacks)
	$(BIN)/python -m soak $(ARGS)

vscode: setup  ## run the real VS Code in Chromium against the host, say what was seen
	@$(BIN)/python -m interop.vscode.prepare $(VSC)
	@$(VSC)/venv/bin/python -m interop.vscode $(VSC) --agenthost $(BIN)/agenthost $(ARGS)

clean:  ## remove what the targets created
	rm -rf $(VENV) web/node_modules agenthost/web build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .vscode-test
