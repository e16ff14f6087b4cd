# Everything runs in environments that the first target makes; nothing is installed outside this folder.
#
#   make demo              build a cluster, break it, repair it, on an embedded AWS
#   make test              all tests
#   make check             linters, types, import rules, state machines, templates
#   make synth ENV=demo    CloudFormation templates of one environment, in cdk.out
#   make diff ENV=demo     what a deployment would change; BASE=folder compares with templates kept there, asking nobody
#   make lint              the quick half of check: ruff, shellcheck, import rules
#   make lock              pin requirements again after changing a *.in file
#   make soak              a million histories of the line; HISTORIES and FIRST say how many, and from which seed on
#   make clean             remove what was built, but not the environments

PYTHON ?= python3
ENV ?= demo
HISTORIES ?= 1000000
FIRST ?= 0
BIN := .venv/bin
CDK := PATH="$(CURDIR)/$(BIN):$$PATH" node_modules/.bin/cdk
# two processes suit two cores; a file's tests stay together, so that what they share is made once
# tests that play a whole house on a fast clock come later, one at a time; last of all, what IAM decided in all of them is
# compared with what the roles were granted, so that phase asks for a whole run
NO_TESTS := 5
RECORDS := build/iam
KEPT := SIMULATOR_IAM_RECORDS=$(CURDIR)/$(RECORDS)
PYTEST := $(BIN)/pytest -n 2 --dist loadfile
LINTED := roundhouse functions stacks simulator benchmarks tests scripts app.py
TYPED := roundhouse functions stacks simulator benchmarks app.py
SHELL_FILES := .ci/run $(shell find . -name '*.sh' -not -path './.venv*' -not -path './node_modules/*' -not -path './build/*')

.PHONY: demo test soak check synth diff lint types machines templates lock clean ready

demo: ready
	@$(BIN)/python -m simulator.demo.assembly
	$(BIN)/roundhouse demo $(DEMO)

test: ready
	@$(PYTHON) scripts/bootstrap.py --look-for chromium shellcheck
	@rm -rf $(RECORDS)
	$(KEPT) $(PYTEST) -m "not alone and not last" $(TESTS) || [ $$? -eq $(NO_TESTS) ]
	$(KEPT) $(BIN)/pytest -m "alone and not last" $(TESTS) || [ $$? -eq $(NO_TESTS) ]
	$(KEPT) $(BIN)/pytest -m last $(TESTS) || [ $$? -eq $(NO_TESTS) ]

check: lint types machines templates

lint: ready
	$(BIN)/ruff check $(LINTED)
	$(BIN)/ruff format --check $(LINTED)
	$(BIN)/lint-imports --no-logo
	@$(PYTHON) scripts/bootstrap.py --look-for shellcheck
	shellcheck $(SHELL_FILES)

types: ready
	$(BIN)/mypy $(TYPED)

machines: ready
	$(BIN)/pytest -q tests/architecture

templates: ready
	for file in environments/*.toml; do $(MAKE) --no-print-directory synth ENV=$$(basename "$$file" .toml) && $(BIN)/cfn-lint -- cdk.out/*.template.json || exit 1; done

synth: ready
	@rm -rf cdk.out
	$(CDK) synth --strict --quiet --no-lookups -c environment=$(ENV)

diff: ready
ifdef BASE
	$(MAKE) --no-print-directory synth ENV=$(ENV)
	for template in "$(BASE)"/*.template.json; do $(CDK) -a cdk.out diff -e "$$(basename "$$template" .template.json)" --template "$$template" || exit 1; done
else
	$(CDK) diff -c environment=$(ENV)
endif

lock: ready
	$(BIN)/uv pip compile -q --generate-hashes --universal --python-version 3.13 --no-emit-index-url --custom-compile-command "make lock" requirements-lambda.in -o requirements-lambda.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --no-emit-index-url --custom-compile-command "make lock" requirements.in -o requirements.txt

soak: ready
	@PYTHONPATH=. $(BIN)/python -m tests.histories --count $(HISTORIES) --first $(FIRST)

clean:
	rm -rf cdk.out build .demo .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache

ready:
	@$(PYTHON) scripts/bootstrap.py
