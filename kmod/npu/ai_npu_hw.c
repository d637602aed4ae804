// SPDX-License-Identifier: GPL-2.0-only
/*
 * The silicon as its registers show it: what it says of itself, resets, power.
 */
#include <linux/iopoll.h>
#include <linux/sizes.h>

#include "ai_npu.h"

#define AI_NPU_POLL_US 500

/* More of a window than this is not used: it says nothing about the device. */
#define AI_NPU_LOAD_MAX SZ_64M
#define AI_NPU_LOG_MAX SZ_1M

/* Sensor values beyond these are a fault of the sensor, not of the cooling. */
#define AI_NPU_TEMP_MIN_MC (-273150)
#define AI_NPU_TEMP_MAX_MC 1000000
#define AI_NPU_POWER_MAX_MW 10000000U

struct ai_npu_window {
	const char *name;
	u64 offset;
	u64 bytes;
	u64 least;
};

static int ai_npu_window_check(struct ai_npu *npu, const struct ai_npu_window *window, u64 align)
{
	u64 bar = pci_resource_len(npu->pdev, AI_NPU_BAR_SHARED);

	if (window->offset >= sizeof(struct npu_regs) && window->offset < bar &&
	    window->bytes <= bar - window->offset && window->bytes >= window->least &&
	    IS_ALIGNED(window->offset, align))
		return 0;
	dev_err(&npu->pdev->dev,
		"the %s is said to be 0x%llx bytes at 0x%llx, needed are at least 0x%llx bytes behind the registers, at a multiple of 0x%llx and inside BAR2 of 0x%llx bytes; update the device model\n",
		window->name, window->bytes, window->offset, window->least, align, bar);
	return -EINVAL;
}

static bool ai_npu_windows_overlap(const struct ai_npu_window *a, const struct ai_npu_window *b)
{
	return a->bytes && b->bytes && a->offset < b->offset + b->bytes &&
	       b->offset < a->offset + a->bytes;
}

static int ai_npu_hw_windows(struct ai_npu *npu)
{
	resource_size_t bar = pci_resource_start(npu->pdev, AI_NPU_BAR_SHARED);
	struct device *dev = &npu->pdev->dev;
	struct ai_npu_window load = {
		.name = "load window",
		.offset = ai_npu_read64(npu, load_offset),
		.bytes = ai_npu_read64(npu, load_bytes),
		.least = NPU_FW_HEADER_BYTES,
	};
	struct ai_npu_window log = {
		.name = "firmware log",
		.offset = ai_npu_read64(npu, log_offset),
		.bytes = ai_npu_read64(npu, log_bytes),
		.least = sizeof(struct npu_log) + 1,
	};
	struct ai_npu_window mem = {
		.name = "device memory",
		.offset = ai_npu_read64(npu, mem_offset),
		.bytes = ai_npu_read64(npu, mem_bytes),
	};

	if (ai_npu_window_check(npu, &load, PAGE_SIZE) ||
	    ai_npu_window_check(npu, &log, PAGE_SIZE) ||
	    (mem.bytes && ai_npu_window_check(npu, &mem, SZ_2M)))
		return -EINVAL;
	if (ai_npu_windows_overlap(&load, &log) || ai_npu_windows_overlap(&load, &mem) ||
	    ai_npu_windows_overlap(&log, &mem)) {
		dev_err(dev, "the windows that the device describes in BAR2 overlap; update the device model\n");
		return -EINVAL;
	}

	npu->load_bytes = min_t(u64, load.bytes, AI_NPU_LOAD_MAX);
	npu->load = devm_ioremap_wc(dev, bar + load.offset, npu->load_bytes);
	npu->log_bytes = min_t(u64, log.bytes, AI_NPU_LOG_MAX);
	npu->log = devm_ioremap(dev, bar + log.offset, npu->log_bytes);
	if (!npu->load || !npu->log)
		return -ENOMEM;

	npu->adev->mem_bytes = mem.bytes & PAGE_MASK;
	if (!npu->adev->mem_bytes)
		return 0;
	npu->adev->mem_phys = bar + mem.offset;
	/* Else applications would get it uncached, whatever ai.ko asks for. */
	return devm_arch_io_reserve_memtype_wc(dev, npu->adev->mem_phys, npu->adev->mem_bytes);
}

/**
 * ai_npu_hw_init() - map the registers and see whether this is an NPU
 * @npu: with pdev enabled
 *
 * Return: 0; -ENODEV if it is another ivshmem device, or one that this driver
 * cannot drive; -EINVAL if what it says of itself cannot be; -ENOMEM.
 */
int ai_npu_hw_init(struct ai_npu *npu)
{
	struct pci_dev *pdev = npu->pdev;
	u64 bar0 = pci_resource_len(pdev, AI_NPU_BAR_IVSHMEM);
	u64 bar2 = pci_resource_len(pdev, AI_NPU_BAR_SHARED);
	u32 magic, abi;

	if (bar0 < AI_NPU_IVSHMEM_BYTES || bar2 < SZ_64K) {
		dev_info(&pdev->dev, "BAR0 has %llu and BAR2 has %llu bytes, an NPU has at least %u and %u; left alone\n",
			 bar0, bar2, AI_NPU_IVSHMEM_BYTES, SZ_64K);
		return -ENODEV;
	}
	npu->ivshmem = devm_ioremap(&pdev->dev, pci_resource_start(pdev, AI_NPU_BAR_IVSHMEM), bar0);
	npu->regs = devm_ioremap(&pdev->dev, pci_resource_start(pdev, AI_NPU_BAR_SHARED),
				 PAGE_ALIGN(sizeof(struct npu_regs)));
	if (!npu->ivshmem || !npu->regs)
		return -ENOMEM;

	magic = ai_npu_read32(npu, magic);
	if (magic != NPU_MAGIC) {
		dev_info(&pdev->dev, "found 0x%08x at the start of BAR2, an NPU has 0x%08x: another use of ivshmem, left alone\n",
			 magic, NPU_MAGIC);
		return -ENODEV;
	}
	abi = ai_npu_read32(npu, rom_abi);
	if (abi >> 16 != NPU_ABI_MAJOR) {
		dev_err(&pdev->dev, "the silicon speaks interface %u.%u, this driver needs %u.x; use a driver or a device model of the same major number\n",
			abi >> 16, abi & 0xffff, NPU_ABI_MAJOR);
		return -ENODEV;
	}
	npu->profile = ai_npu_read32(npu, profile);
	if (npu->profile != NPU_PROFILE_NPU && npu->profile != NPU_PROFILE_GPU) {
		dev_err(&pdev->dev, "the silicon says it is of kind %u, this driver knows %u (NPU) and %u (GPU); update the driver\n",
			npu->profile, NPU_PROFILE_NPU, NPU_PROFILE_GPU);
		return -ENODEV;
	}
	npu->reset_seq = ai_npu_read32(npu, reset_seq);
	return ai_npu_hw_windows(npu);
}

/**
 * ai_npu_hw_describe() - tell ai.ko what the device says of itself
 * @npu: the device, not registered yet
 */
void ai_npu_hw_describe(struct ai_npu *npu)
{
	struct ai_device *adev = npu->adev;
	char product[sizeof_field(struct npu_regs, product)];
	char engine[sizeof_field(struct npu_regs, engine)];

	memcpy_fromio(product, npu->regs + offsetof(struct npu_regs, product), sizeof(product));
	memcpy_fromio(engine, npu->regs + offsetof(struct npu_regs, engine), sizeof(engine));
	ai_npu_text(adev->product, sizeof(adev->product), product, sizeof(product));
	ai_npu_text(adev->engine, sizeof(adev->engine), engine, sizeof(engine));
	strscpy(adev->bus, pci_name(npu->pdev));

	adev->class = npu->profile == NPU_PROFILE_GPU ? AI_CLASS_GPU : AI_CLASS_NPU;
	adev->properties = AI_DEVICE_F_EMULATED | AI_DEVICE_F_MODELS | AI_DEVICE_F_MMU |
			   (adev->mem_bytes ? AI_DEVICE_F_MEMORY : 0);
	adev->temp_throttle_mc = clamp((s32)ai_npu_read32(npu, temp_throttle_mc),
				       AI_NPU_TEMP_MIN_MC, AI_NPU_TEMP_MAX_MC);
	adev->power_limit_mw = min(ai_npu_read32(npu, power_limit_mw), AI_NPU_POWER_MAX_MW);
	adev->clock_max_mhz = ai_npu_read32(npu, clock_max_mhz);
}

/* Whether what is read from the registers comes from there. */
bool ai_npu_hw_readable(struct ai_npu *npu)
{
	return ai_npu_read32(npu, magic) == NPU_MAGIC;
}

/* False once the device does not answer on the bus any more. */
bool ai_npu_hw_present(struct ai_npu *npu)
{
	if (READ_ONCE(npu->gone))
		return false;
	/* Nothing is there reads as all ones or zeroes, depending on who answers for it. */
	return ai_npu_hw_readable(npu) || pci_device_is_present(npu->pdev);
}

u32 ai_npu_hw_state(struct ai_npu *npu)
{
	return ai_npu_read32(npu, state);
}

const char *ai_npu_hw_state_name(u32 state)
{
	static const char * const names[] = {
		[NPU_STATE_OFF] = "off",
		[NPU_STATE_ROM] = "in the boot ROM",
		[NPU_STATE_BOOTING] = "booting",
		[NPU_STATE_RUNNING] = "running",
		[NPU_STATE_BOOT_FAILED] = "stopped by a failed boot",
		[NPU_STATE_CRASHED] = "crashed",
	};

	return state < ARRAY_SIZE(names) ? names[state] : "in an unknown state";
}

static u32 ai_npu_read_ack(struct ai_npu *npu)
{
	return ai_npu_read32(npu, reset_ack);
}

/**
 * ai_npu_hw_reset() - have a reset carried out
 * @npu: the device
 * @reset: which
 * @timeout_ms: how long to wait
 *
 * Called before the device is registered, and then from the recovery workqueue.
 *
 * Return: 0, -ETIME if the device did not acknowledge it, -ENODEV if it is gone.
 */
int ai_npu_hw_reset(struct ai_npu *npu, enum npu_reset reset, unsigned int timeout_ms)
{
	u32 ack;
	int ret;

	npu->reset_seq++;
	ai_npu_write32(npu, reset, reset);
	ai_npu_write32(npu, reset_seq, npu->reset_seq);
	ai_npu_doorbell(npu, NPU_DB_RESET);

	ret = read_poll_timeout(ai_npu_read_ack, ack, ack == npu->reset_seq || READ_ONCE(npu->gone),
				AI_NPU_POLL_US, timeout_ms * (u64)USEC_PER_MSEC, false, npu);
	if (READ_ONCE(npu->gone))
		return -ENODEV;
	return ret ? -ETIME : 0;
}

static int ai_npu_hw_wait_rom(struct ai_npu *npu, u64 timeout_us)
{
	u32 state;
	int ret;

	ret = read_poll_timeout(ai_npu_hw_state, state,
				state == NPU_STATE_ROM || READ_ONCE(npu->gone),
				AI_NPU_POLL_US, timeout_us, false, npu);
	if (READ_ONCE(npu->gone))
		return -ENODEV;
	return ret ? -ETIME : 0;
}

/**
 * ai_npu_hw_to_rom() - stop firmware and engines
 * @npu: the device
 * @timeout_ms: how long to wait
 *
 * Return: 0 when it is in the boot ROM, where it does no DMA; -ETIME; -ENODEV.
 */
int ai_npu_hw_to_rom(struct ai_npu *npu, unsigned int timeout_ms)
{
	ktime_t begin = ktime_get();
	s64 left;
	int ret;

	ret = ai_npu_hw_reset(npu, NPU_RESET_ROM, timeout_ms);
	if (ret)
		return ret;
	left = (s64)timeout_ms * USEC_PER_MSEC - ktime_us_delta(ktime_get(), begin);
	return ai_npu_hw_wait_rom(npu, max_t(s64, left, 1000));
}

static u32 ai_npu_read_power_on(struct ai_npu *npu)
{
	return ai_npu_read32(npu, power_on_count);
}

/**
 * ai_npu_hw_power_cycle() - take the power away and give it back
 * @npu: the device
 * @timeout_ms: how long to wait
 *
 * Return: 0 when it is in the boot ROM, where it does no DMA; -ETIME; -ENODEV.
 */
int ai_npu_hw_power_cycle(struct ai_npu *npu, unsigned int timeout_ms)
{
	u32 before = ai_npu_read_power_on(npu);
	ktime_t begin = ktime_get();
	u32 count;
	s64 left;
	int ret;

	ai_npu_doorbell(npu, NPU_DB_POWER);
	ret = read_poll_timeout(ai_npu_read_power_on, count,
				count != before || READ_ONCE(npu->gone),
				AI_NPU_POLL_US, timeout_ms * (u64)USEC_PER_MSEC, false, npu);
	if (READ_ONCE(npu->gone))
		return -ENODEV;
	if (ret)
		return -ETIME;
	left = (s64)timeout_ms * USEC_PER_MSEC - ktime_us_delta(ktime_get(), begin);
	return ai_npu_hw_wait_rom(npu, max_t(s64, left, 1000));
}

/**
 * ai_npu_hw_cut_off() - take the device off the bus
 * @npu: the device
 *
 * What is left when it answers neither a reset nor its power switch: a function
 * that is no bus master reaches no memory and raises no interrupt.
 */
void ai_npu_hw_cut_off(struct ai_npu *npu)
{
	pci_clear_master(npu->pdev);
}

static const char *ai_npu_trap_name(u32 cause)
{
	static const char * const names[] = {
		"instruction address misaligned", "instruction access fault",
		"illegal instruction", "breakpoint", "load address misaligned",
		"load access fault", "store address misaligned", "store access fault",
		"call from user mode", "call from supervisor mode", "reserved trap",
		"call from machine mode", "instruction page fault", "load page fault",
		"reserved trap", "store page fault",
	};

	return cause < ARRAY_SIZE(names) ? names[cause] : "unknown trap";
}

/* Clause that says why the firmware is in state CRASHED. */
void ai_npu_hw_crash_text(struct ai_npu *npu, char *text, size_t bytes)
{
	u32 cause = ai_npu_read32(npu, crash_cause);
	u64 pc = ai_npu_read64(npu, crash_pc);

	if (cause == NPU_CRASH_WATCHDOG)
		scnprintf(text, bytes, "the firmware was stopped by its watchdog at pc 0x%llx", pc);
	else
		scnprintf(text, bytes, "the firmware crashed (%s, cause %u, at pc 0x%llx)",
			  ai_npu_trap_name(cause), cause, pc);
}

void ai_npu_hw_sensors(struct ai_npu *npu, struct ai_sensors *sensors)
{
	sensors->temp_mc = clamp((s32)ai_npu_read32(npu, temp_mc), AI_NPU_TEMP_MIN_MC,
				 AI_NPU_TEMP_MAX_MC);
	sensors->power_mw = min(ai_npu_read32(npu, power_mw), AI_NPU_POWER_MAX_MW);
	sensors->clock_mhz = ai_npu_read32(npu, clock_mhz);
	sensors->throttled = ai_npu_read32(npu, throttled) == 1;
}
