# SPDX-License-Identifier: Apache-2.0
# One entry for everything. `make help` lists the targets.

SHELL := /bin/bash
.DEFAULT_GOAL := help

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/ai0
KDIR ?= /lib/modules/$(shell uname -r)/build
KERNEL_SOURCES := $(shell find kmod uapi firmware/include -type f 2>/dev/null)
IMAGE ?=
# As it was given: make would expand it when it passes it on.
unexport IMAGE

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: setup
setup: ## install and fetch what the build needs (apt, npm)
	@tools/setup/setup

# ---- modules: built beside the sources, so that those stay clean ----

# kbuild TARGET_FOLDER KERNEL_BUILD_FOLDER
define kbuild
	@mkdir -p $(1)
	@tar -c kmod uapi firmware/include | tar -x -C $(1)
	@echo "building the modules in $(1)"
	@$(MAKE) -s -j$(shell nproc) -C $(2) M=$(CURDIR)/$(1)/kmod W=1 modules
	@touch $@
endef

# Files that set-up writes anew only when the kernel is another one.
$(CACHE)/kernel/stock/release: setup
	@:
$(CACHE)/kernel/debug/key: debug-kernel
	@:

build/stock/.built: $(KERNEL_SOURCES) $(CACHE)/kernel/stock/release
	$(call kbuild,build/stock,/usr/src/linux-headers-$$(cat $(CACHE)/kernel/stock/release))

build/debug/.built: $(KERNEL_SOURCES) $(CACHE)/kernel/debug/key
	$(call kbuild,build/debug,$(CACHE)/kernel/debug/build)

build/host/.built: $(KERNEL_SOURCES)
	@test -e $(KDIR)/Makefile || { echo "modules: $(KDIR) has no kernel headers;" \
		"install those of your kernel, or give their folder with KDIR=" >&2; exit 1; }
	$(call kbuild,build/host,$(KDIR))

.PHONY: modules modules-stock modules-debug debug-kernel
modules: build/host/.built ## build the modules for this machine's kernel (or KDIR=)
modules-stock: build/stock/.built ## build them for Debian's 6.12 kernel, for tools/vm
modules-debug: build/debug/.built ## build them for the debug kernel, for tools/vm
debug-kernel: setup ## build the debug kernel (once; about 15 minutes)
	@tools/setup/kernel-debug

.PHONY: load unload
load: modules ## load the modules on this machine, with software devices
	install -D -m 644 tools/udev/60-ai0.rules /etc/udev/rules.d/60-ai0.rules
	-udevadm control --reload
	@for need in $$(modinfo -F depends build/host/kmod/ai.ko | tr , ' '); do \
		modprobe $$need || exit; done
	insmod build/host/kmod/ai.ko
	insmod build/host/kmod/ai_sim.ko

unload: ## unload them
	rmmod ai_sim ai

# ---- userspace ----

build/build.ninja: | setup
	@mkdir -p build
	@cmake -S . -B build -G Ninja >build/cmake.log || { cat build/cmake.log; exit 1; }

.PHONY: build
build: build/build.ninja ## build library, tools, firmware and device model
	@cmake --build build

.PHONY: install
install: build ## install library, headers and tools (DESTDIR=, PREFIX=)
	cmake --install build --prefix $(or $(PREFIX),/usr/local)
	install -D -m 644 tools/udev/60-ai0.rules $(DESTDIR)/etc/udev/rules.d/60-ai0.rules

# ---- use and tests ----

.PHONY: run check bench lint
run: export RUN_IMAGE := $(value IMAGE)
run: modules-stock build ## read the text in a picture (IMAGE=path) on the reference NPU
	@tools/run-ocr "$$RUN_IMAGE"

.PHONY: demo-contracts
demo-contracts: modules-stock build ## tell the story of a contract: kept, broken, moved, recovered
	@tools/demo-contracts/run

check: modules-stock modules-debug build ## run all tests, on the stock and the debug kernel
	@tools/check

bench: modules-stock build ## measure speed and size, into out/bench.json
	@tests/bench/run

lint: modules-stock build ## style and static checks alone
	@tests/suites/10-lint

.PHONY: clean
clean: ## remove what was built (not the cache)
	rm -rf build out
