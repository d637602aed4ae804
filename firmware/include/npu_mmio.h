/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The inside of the reference NPU as its control core sees it: memory map and
 * unit registers. Shared by the firmware and the device model; the driver never
 * sees any of it.
 *
 * All registers are 32 bits wide; a 64-bit value is a pair, low word first. A
 * unit's GO register starts what its other registers describe. What takes time
 * ends in the completion FIFO of the system block.
 */
#ifndef NPU_MMIO_H
#define NPU_MMIO_H

#include "ai_npu_abi.h"

/* ---- Memory map of the control core ---- */

#define NPU_CORE_SRAM 0x80000000u /* code, data, stack */
#define NPU_CORE_SRAM_BYTES 0x00100000u
#define NPU_CORE_MMIO 0x10000000u
#define NPU_CORE_MMIO_BYTES 0x00010000u
#define NPU_CORE_LOG 0x20000000u /* struct npu_log, the same memory as in BAR2 */
#define NPU_CORE_LOG_BYTES 0x00010000u
#define NPU_CORE_JOB_RAM 0x30000000u  /* NPU_JOB_SLOTS of struct npu_unit_job */
#define NPU_CORE_INFO_RAM 0x38000000u /* NPU_COMPILE_SLOTS of struct npu_unit_info */
/* One instruction that jumps to itself; the core is sent here to make it hang. */
#define NPU_CORE_TRAP_ROM 0x00001000u
#define NPU_CORE_TRAP_ROM_BYTES 0x00001000u

/* Environment calls: number in a7. */
#define NPU_ECALL_WAIT 1 /* until something in NPU_SYS_PENDING is set */
#define NPU_ECALL_HALT 2 /* the firmware cannot go on */

/* ---- System block ---- */

#define NPU_SYS 0x0000u
#define NPU_SYS_PENDING (NPU_SYS + 0x00)     /* R: NPU_PENDING_*; reading clears */
#define NPU_SYS_IRQ (NPU_SYS + 0x04)         /* W: raise this MSI-X vector */
#define NPU_SYS_WATCHDOG (NPU_SYS + 0x08)    /* W: any value feeds it */
#define NPU_SYS_HEARTBEAT (NPU_SYS + 0x0c)   /* W: shown in npu_regs.heartbeat */
#define NPU_SYS_STATE (NPU_SYS + 0x10)       /* W: RUNNING or BOOT_FAILED */
#define NPU_SYS_BOOT_ERROR (NPU_SYS + 0x14)  /* W */
#define NPU_SYS_BOOT_FOUND (NPU_SYS + 0x18)  /* W */
#define NPU_SYS_BOOT_NEEDED (NPU_SYS + 0x1c) /* W */
#define NPU_SYS_FW_VERSION (NPU_SYS + 0x20)  /* W */
#define NPU_SYS_FW_ABI (NPU_SYS + 0x24)      /* W */
#define NPU_SYS_CONFIG_LO (NPU_SYS + 0x28)   /* R: npu_regs.config_addr at boot */
#define NPU_SYS_CONFIG_HI (NPU_SYS + 0x2c)
#define NPU_SYS_TIME_LO (NPU_SYS + 0x30) /* R: ms since power on */
/* Completion FIFO: reading UNIT takes one entry, or gives NPU_UNIT_NONE. */
#define NPU_SYS_DONE_UNIT (NPU_SYS + 0x40)   /* R */
#define NPU_SYS_DONE_SLOT (NPU_SYS + 0x44)   /* R: of the entry taken last */
#define NPU_SYS_DONE_STATUS (NPU_SYS + 0x48) /* R: enum npu_status */

#define NPU_PENDING_CTRL (1u << 0) /* doorbell of the control queue */
#define NPU_PENDING_JOB (1u << 1)  /* doorbell of the job queue */
#define NPU_PENDING_DONE (1u << 2) /* completion FIFO is not empty */
#define NPU_PENDING_TICK (1u << 3) /* every NPU_HEARTBEAT_MS */

enum npu_unit {
    NPU_UNIT_NONE = 0,
    NPU_UNIT_MMU = 1,
    NPU_UNIT_JOB = 2, /* tensor engine and copy engine */
    NPU_UNIT_COMPILE = 3,
    NPU_UNIT_ENGINE_RESET = 4,
};

/* ---- Bus DMA: between system memory and memory of the core; done when GO returns ---- */

#define NPU_DMA 0x1000u
#define NPU_DMA_BUS_LO (NPU_DMA + 0x00)
#define NPU_DMA_BUS_HI (NPU_DMA + 0x04)
#define NPU_DMA_LOCAL (NPU_DMA + 0x08)
#define NPU_DMA_BYTES (NPU_DMA + 0x0c)
#define NPU_DMA_GO (NPU_DMA + 0x10)     /* W: NPU_DMA_* */
#define NPU_DMA_STATUS (NPU_DMA + 0x14) /* R: 0, or 1 if an address is not there */

#define NPU_DMA_READ 1u  /* from system memory */
#define NPU_DMA_WRITE 2u /* to system memory, after all writes before it */
#define NPU_DMA_CHECK 3u /* moves nothing */

/* ---- MMU: address spaces; slots below NPU_MMU_SLOTS ---- */

#define NPU_MMU 0x2000u
#define NPU_MMU_ASID (NPU_MMU + 0x00)
#define NPU_MMU_ARG0_LO (NPU_MMU + 0x04) /* root table, or address */
#define NPU_MMU_ARG0_HI (NPU_MMU + 0x08)
#define NPU_MMU_ARG1_LO (NPU_MMU + 0x0c) /* bytes */
#define NPU_MMU_ARG1_HI (NPU_MMU + 0x10)
#define NPU_MMU_SLOT (NPU_MMU + 0x14)
#define NPU_MMU_GO (NPU_MMU + 0x18)     /* W: NPU_MMU_OP_* */
#define NPU_MMU_STATUS (NPU_MMU + 0x1c) /* R: enum npu_status of the start */

#define NPU_MMU_OP_CREATE 1u     /* done at once */
#define NPU_MMU_OP_DESTROY 2u    /* completes in the FIFO */
#define NPU_MMU_OP_INVALIDATE 3u /* completes in the FIFO */

/* ---- Tensor engine and copy engine: slots of work in the job RAM ---- */

#define NPU_JOB 0x3000u
#define NPU_JOB_SLOT (NPU_JOB + 0x00)
#define NPU_JOB_GO (NPU_JOB + 0x04) /* W: NPU_JOB_OP_* */

#define NPU_JOB_OP_START 1u
#define NPU_JOB_OP_ABORT 2u
#define NPU_JOB_OP_ENGINE_RESET 3u /* of the engine, completes in the FIFO */

#define NPU_JOB_SLOTS NPU_QUEUE_ENTRIES
#define NPU_JOB_DESC_BYTES                                                                         \
    (sizeof(struct npu_job_desc) + 2 * NPU_MAX_TENSORS * sizeof(struct npu_tensor))

struct npu_unit_job {
    /* set by the firmware, checked */
    __u32 op; /* NPU_OP_INFER or NPU_OP_COPY */
    __u32 asid;
    __u64 object;
    __u64 arg[3];
    /* set by the engine */
    __u32 flags; /* NPU_CPL_* */
    __u32 energy_uj;
    __u64 run_ns;
    __u64 value;
    __u64 bytes_in_place;
    __u64 bytes_dma;
    /* a struct npu_job_desc: fetched by the firmware, completed by the engine */
    __u8 desc[16384 - 80];
};

/* ---- Compile unit: slots as above, results in the info RAM ---- */

#define NPU_COMPILE 0x4000u
#define NPU_COMPILE_SLOT (NPU_COMPILE + 0x00)
#define NPU_COMPILE_MODEL_LO (NPU_COMPILE + 0x04)
#define NPU_COMPILE_MODEL_HI (NPU_COMPILE + 0x08)
#define NPU_COMPILE_ADDR_LO (NPU_COMPILE + 0x0c) /* in address space 0 */
#define NPU_COMPILE_ADDR_HI (NPU_COMPILE + 0x10)
#define NPU_COMPILE_BYTES (NPU_COMPILE + 0x14)
#define NPU_COMPILE_GO (NPU_COMPILE + 0x18) /* W: NPU_COMPILE_OP_* */

#define NPU_COMPILE_OP_LOAD 1u
#define NPU_COMPILE_OP_UNLOAD 2u

#define NPU_COMPILE_SLOTS NPU_QUEUE_ENTRIES

struct npu_unit_info {
    __u64 run_ns;
    __u64 value; /* by status, as in npu_cpl */
    __u32 flags; /* NPU_CPL_* */
    __u32 reserved;
    struct npu_model_info info;
    __u8 unused[32768 - 24 - sizeof(struct npu_model_info)];
};

#endif /* NPU_MMIO_H */
