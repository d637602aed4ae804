// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the driver adds to a dump: registers, what it knows itself, page tables and
 * the firmware's log. Nothing here waits for the device.
 */
#include <linux/vmalloc.h>

#include "../../uapi/ai_dump.h"
#include "ai_npu.h"

struct ai_npu_register {
	const char *name;
	u32 offset;
	u32 bytes;
};

#define AI_NPU_REG32(field) { #field, offsetof(struct npu_regs, field), sizeof(u32) }
#define AI_NPU_REG64(field) { #field, offsetof(struct npu_regs, field), sizeof(u64) }

static const struct ai_npu_register ai_npu_registers[] = {
	AI_NPU_REG32(magic),
	AI_NPU_REG32(rom_abi),
	AI_NPU_REG32(profile),
	AI_NPU_REG32(state),
	AI_NPU_REG32(boot_error),
	AI_NPU_REG32(boot_found),
	AI_NPU_REG32(boot_needed),
	AI_NPU_REG32(power_on_count),
	AI_NPU_REG32(reset),
	AI_NPU_REG32(reset_seq),
	AI_NPU_REG32(reset_ack),
	AI_NPU_REG32(heartbeat),
	AI_NPU_REG64(load_offset),
	AI_NPU_REG64(load_bytes),
	AI_NPU_REG64(log_offset),
	AI_NPU_REG64(log_bytes),
	AI_NPU_REG64(mem_offset),
	AI_NPU_REG64(mem_bytes),
	AI_NPU_REG64(image_bytes),
	AI_NPU_REG64(config_addr),
	AI_NPU_REG32(fw_version),
	AI_NPU_REG32(fw_abi),
	AI_NPU_REG32(temp_mc),
	AI_NPU_REG32(temp_throttle_mc),
	AI_NPU_REG32(power_mw),
	AI_NPU_REG32(power_limit_mw),
	AI_NPU_REG32(clock_mhz),
	AI_NPU_REG32(clock_max_mhz),
	AI_NPU_REG32(throttled),
	AI_NPU_REG32(ecc_errors),
	AI_NPU_REG64(energy_uj),
	AI_NPU_REG32(crash_cause),
	AI_NPU_REG64(crash_pc),
};

void ai_npu_dump_registers(struct ai_device *adev, struct ai_dumper *dumper)
{
	struct ai_npu *npu = adev->driver_data;
	u32 i;

	if (!ai_npu_hw_present(npu) || !ai_npu_hw_readable(npu))
		ai_dump_unreadable(dumper);
	/* What is not in its slot reads as ones, which tells nothing. */
	if (READ_ONCE(npu->gone))
		return;
	for (i = 0; i < ARRAY_SIZE(ai_npu_registers); i++) {
		const struct ai_npu_register *reg = &ai_npu_registers[i];
		void __iomem *at = npu->regs + reg->offset;

		ai_dump_register(dumper, reg->name, reg->offset,
				 reg->bytes == sizeof(u64) ? readq(at) : readl(at));
	}
}

static void ai_npu_dump_queue(struct ai_npu_queue *queue, const char *name,
			      struct ai_dumper *dumper)
{
	struct npu_ring_index *index = &queue->ring->index;
	char text[32];
	const struct {
		const char *name;
		u64 value;
	} values[] = {
		{ "state", READ_ONCE(queue->state) },
		{ "cmd_tail", READ_ONCE(queue->cmd_tail) },
		{ "cmd_head", READ_ONCE(index->cmd_head) },
		{ "cpl_tail", READ_ONCE(index->cpl_tail) },
		{ "cpl_head", READ_ONCE(queue->cpl_head) },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		scnprintf(text, sizeof(text), "%s.%s", name, values[i].name);
		ai_dump_number(dumper, text, values[i].value);
	}
}

static void ai_npu_dump_faults(struct ai_npu *npu, struct ai_dumper *dumper)
{
	static const char * const names[] = {
		[AI_NPU_FAULT_INDEX] = "faults.index",
		[AI_NPU_FAULT_TAG] = "faults.tag",
		[AI_NPU_FAULT_OP] = "faults.op",
		[AI_NPU_FAULT_STATUS] = "faults.status",
		[AI_NPU_FAULT_RESULT] = "faults.result",
		[AI_NPU_FAULT_MODEL] = "faults.model",
		[AI_NPU_FAULT_LATE] = "faults.late",
	};
	u32 i;

	static_assert(ARRAY_SIZE(names) == AI_NPU_FAULTS);
	for (i = 0; i < AI_NPU_FAULTS; i++)
		ai_dump_number(dumper, names[i], atomic_read(&npu->faults[i]));
}

static void ai_npu_dump_recovery(struct ai_npu *npu, struct ai_dumper *dumper)
{
	static const char * const names[] = {
		[AI_NPU_RUNG_JOB] = "resets.job",
		[AI_NPU_RUNG_ENGINE] = "resets.engine",
		[AI_NPU_RUNG_FIRMWARE] = "resets.firmware",
		[AI_NPU_RUNG_POWER] = "resets.power",
		[AI_NPU_RUNG_LOST] = "resets.lost",
	};
	struct ai_npu_recovery *r = &npu->recovery;
	u32 i;

	static_assert(ARRAY_SIZE(names) == AI_NPU_RUNGS);
	for (i = 0; i < AI_NPU_RUNGS; i++)
		ai_dump_number(dumper, names[i], atomic_read(&r->count[i]));
	ai_dump_number(dumper, "heartbeat.last", READ_ONCE(r->heartbeat));
	ai_dump_number(dumper, "heartbeat.missed", READ_ONCE(r->heartbeat_missed));
	ai_dump_number(dumper, "recovery.pending", READ_ONCE(r->pending));
}

void ai_npu_dump_driver(struct ai_device *adev, struct ai_dumper *dumper)
{
	struct ai_npu *npu = adev->driver_data;

	ai_dump_number(dumper, "lost", READ_ONCE(npu->lost));
	ai_dump_number(dumper, "gone", READ_ONCE(npu->gone));
	ai_dump_number(dumper, "stops", atomic_read(&npu->stops));
	ai_dump_number(dumper, "model_loads", READ_ONCE(npu->loads));
	ai_dump_number(dumper, "guilty_jobs", READ_ONCE(npu->nr_guilty));
	ai_dump_number(dumper, "engine_reset", READ_ONCE(npu->engine_reset));
	ai_npu_dump_queue(&npu->queue[NPU_QUEUE_CTRL], "control", dumper);
	ai_npu_dump_queue(&npu->queue[NPU_QUEUE_JOB], "job", dumper);
	ai_npu_dump_faults(npu, dumper);
	ai_npu_dump_recovery(npu, dumper);
}

void ai_npu_dump_log(struct ai_device *adev, struct ai_dumper *dumper)
{
	struct ai_npu *npu = adev->driver_data;
	size_t bytes;
	char *text;

	if (!ai_npu_hw_present(npu)) {
		ai_dump_unreadable(dumper);
		return;
	}
	text = ai_npu_log_copy(npu, &bytes);
	if (IS_ERR(text)) {
		ai_dump_unreadable(dumper);
		return;
	}
	ai_dump_text(dumper, text, bytes);
	vfree(text);
}

static u32 ai_npu_dump_pte_flags(u64 entry)
{
	return (entry & NPU_PTE_VALID ? AI_DUMP_PTE_VALID : 0) |
	       (entry & NPU_PTE_READ ? AI_DUMP_PTE_READ : 0) |
	       (entry & NPU_PTE_WRITE ? AI_DUMP_PTE_WRITE : 0) |
	       (entry & NPU_PTE_DEVICE ? AI_DUMP_PTE_DEVICE : 0);
}

void ai_npu_dump_ptes(struct ai_device *adev, struct ai_as *as, u64 va, u64 bytes,
		      struct ai_dumper *dumper)
{
	u64 end = va + bytes, entry, step;
	bool more = true;
	u32 level;

	while (more && va < end) {
		step = ai_npu_mmu_entry(as->driver_data, va, &entry, &level);
		va = ALIGN_DOWN(va, step);
		more = ai_dump_pte(dumper, va, level, step, entry, ai_npu_dump_pte_flags(entry));
		va += step;
	}
}
