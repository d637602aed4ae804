/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The reference NPU as its driver, its firmware and its device model agree on
 * it: shared memory layout, queues, commands, firmware image. Little-endian.
 *
 * The device is QEMU's ivshmem-doorbell. BAR2 holds the registers, a window for
 * loading firmware, the firmware log and the device memory. BAR0's doorbell
 * register rings the device, MSI-X rings the driver. Queues, descriptors and
 * page tables are in system memory, which the device reaches by DMA.
 */
#ifndef AI_NPU_ABI_H
#define AI_NPU_ABI_H

#if defined(__KERNEL__) || __STDC_HOSTED__
#include <linux/types.h>
#else
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;
#endif

/*
 * Interface version. The major number changes when old drivers or firmware
 * cannot work, the minor one when something is added. The boot ROM, the
 * firmware and the driver must agree on the major number, and the minor number
 * of the firmware must not be below the driver's.
 */
#define NPU_ABI_MAJOR 1
#define NPU_ABI_MINOR 0
#define NPU_ABI(major, minor) (((__u32)(major) << 16) | (__u32)(minor))
#define NPU_ABI_VERSION NPU_ABI(NPU_ABI_MAJOR, NPU_ABI_MINOR)

/* ---- Registers: BAR2, offset 0. "D" is written by the device, "H" by the driver. ---- */

#define NPU_MAGIC 0x4e304941u /* "AI0N" */

enum npu_profile {
	NPU_PROFILE_NPU = 1, /* 30 W, throttles at 70 C */
	NPU_PROFILE_GPU = 2, /* 150 W, throttles at 85 C */
};

enum npu_state {
	NPU_STATE_OFF = 0, /* no silicon behind the slot */
	NPU_STATE_ROM = 1, /* the boot ROM waits for an image */
	NPU_STATE_BOOTING = 2,
	NPU_STATE_RUNNING = 3, /* the firmware serves the queues */
	NPU_STATE_BOOT_FAILED = 4, /* see boot_error; the ROM takes another image */
	NPU_STATE_CRASHED = 5, /* trap in the firmware, or its watchdog bit */
};

enum npu_boot_error {
	NPU_BOOT_OK = 0,
	NPU_BOOT_SIZE = 1, /* found, needed: bytes */
	NPU_BOOT_MAGIC = 2, /* found, needed: magic */
	NPU_BOOT_HEADER_VERSION = 3,
	NPU_BOOT_ABI = 4, /* found, needed: NPU_ABI() */
	NPU_BOOT_PROFILE = 5, /* found: mask in the image, needed: bit of this device */
	NPU_BOOT_DIGEST = 6, /* SHA-256 of the image differs */
	NPU_BOOT_KEY = 7, /* found, needed: first four bytes of the key id */
	NPU_BOOT_SIGNATURE = 8,
	NPU_BOOT_CONFIG = 9, /* config block refused: found is the field's offset */
	NPU_BOOT_HANDSHAKE = 10, /* the firmware did not come up */
};

/* Values of npu_regs.reset, given with doorbell NPU_DB_RESET. */
enum npu_reset {
	NPU_RESET_BOOT = 1, /* check and start the image in the load window */
	NPU_RESET_ROM = 2, /* stop firmware and engines, drop all state, back to ROM */
	NPU_RESET_ENGINE = 3, /* restart the tensor engine alone, see NPU_OP_ENGINE_RESET */
};

struct npu_regs {
	__u32 magic; /* D */
	__u32 rom_abi; /* D: interface version of the silicon */
	__u32 profile; /* D: enum npu_profile */
	__u32 state; /* D: enum npu_state */
	__u32 boot_error; /* D: enum npu_boot_error */
	__u32 boot_found; /* D */
	__u32 boot_needed; /* D */
	__u32 power_on_count; /* D: changes each time the silicon is powered */
	__u32 reset; /* H: enum npu_reset */
	__u32 reset_seq; /* H: incremented before each NPU_DB_RESET */
	__u32 reset_ack; /* D: reset_seq of the last reset carried out */
	__u32 heartbeat; /* D: the firmware counts it up every NPU_HEARTBEAT_MS */
	__u64 load_offset; /* D: firmware load window in BAR2 */
	__u64 load_bytes; /* D */
	__u64 log_offset; /* D: struct npu_log in BAR2 */
	__u64 log_bytes; /* D */
	__u64 mem_offset; /* D: device memory in BAR2, 2 MiB aligned */
	__u64 mem_bytes; /* D */
	__u64 image_bytes; /* H: size of the image in the load window */
	__u64 config_addr; /* H: bus address of struct npu_config */
	__u32 fw_version; /* D: NPU_FW_VERSION() of the firmware that runs */
	__u32 fw_abi; /* D */
	__s32 temp_mc; /* D: thousandths of a degree Celsius */
	__s32 temp_throttle_mc; /* D */
	__u32 power_mw; /* D */
	__u32 power_limit_mw; /* D */
	__u32 clock_mhz; /* D */
	__u32 clock_max_mhz; /* D */
	__u32 throttled; /* D: 1 while clocks are lowered because of heat */
	__u32 ecc_errors; /* D: corrected errors since power on */
	__u64 energy_uj; /* D: energy used since power on, in microjoules */
	__u32 crash_cause; /* D: RISC-V exception code, or NPU_CRASH_WATCHDOG */
	__u32 reserved;
	__u64 crash_pc; /* D */
	char product[64]; /* D: NUL-terminated; says that it is an emulation */
	char engine[48]; /* D: NUL-terminated */
};

#define NPU_CRASH_WATCHDOG 0xffffffffu
#define NPU_HEARTBEAT_MS 100

/* Log written by the firmware: a byte ring that wraps; head counts all bytes ever written. */
struct npu_log {
	__u32 head; /* D */
	__u32 capacity; /* D: bytes of text[] */
	char text[];
};

/* ---- Doorbells (BAR0, vector of peer 0) and interrupts (MSI-X of the driver) ---- */

#define NPU_DB_CTRL 0 /* control queue has commands */
#define NPU_DB_JOB 1 /* job queue has commands */
#define NPU_DB_RESET 2 /* npu_regs.reset is set */
#define NPU_DB_POWER 3 /* power-cycle the slot; served even when the silicon is dead */
#define NPU_VECTORS 4

#define NPU_IRQ_CTRL 0 /* control queue has completions */
#define NPU_IRQ_JOB 1 /* job queue has completions */
#define NPU_IRQ_EVENT 2 /* npu_regs.state, throttled or ecc_errors changed */

#define NPU_PEER_DEVICE 0
#define NPU_PEER_DRIVER 1

/* ---- Queues: in system memory, named by struct npu_config ---- */

#define NPU_QUEUE_CTRL 0
#define NPU_QUEUE_JOB 1
#define NPU_QUEUES 2
#define NPU_QUEUE_ENTRIES 64 /* a power of two */

/*
 * Indices run freely and are masked on use. The producer writes the entry, then
 * the index; the consumer reads the index, then the entry. The driver never has
 * more than NPU_QUEUE_ENTRIES commands without completion in a queue, so that a
 * completion ring cannot overflow.
 */
struct npu_ring_index {
	__u32 cmd_tail; /* H */
	__u32 pad0[15];
	__u32 cmd_head; /* D */
	__u32 pad1[15];
	__u32 cpl_tail; /* D */
	__u32 pad2[15];
	__u32 cpl_head; /* H */
	__u32 pad3[15];
};

struct npu_queue_config {
	__u64 index_addr; /* struct npu_ring_index */
	__u64 cmd_addr; /* struct npu_cmd [NPU_QUEUE_ENTRIES] */
	__u64 cpl_addr; /* struct npu_cpl [NPU_QUEUE_ENTRIES] */
};

#define NPU_CONFIG_MAGIC 0x43304941u /* "AI0C" */

struct npu_config {
	__u32 magic;
	__u32 bytes; /* size of this struct */
	__u32 driver_abi;
	__u32 entries; /* NPU_QUEUE_ENTRIES */
	struct npu_queue_config queue[NPU_QUEUES];
};

enum npu_op {
	/* control queue */
	NPU_OP_PING = 1, /* arg[0] comes back in npu_cpl.value */
	NPU_OP_AS_CREATE = 2, /* asid; arg[0] bus address of the root table */
	NPU_OP_AS_DESTROY = 3, /* asid */
	/*
	 * asid; arg[0] address, arg[1] bytes; 0, 0 for all. When it completes, no
	 * engine uses the range any more.
	 */
	NPU_OP_TLB_INVALIDATE = 4,
	/*
	 * object = model id; asid 0: arg[0] address of the artefact, arg[1] bytes;
	 * desc_addr: struct npu_model_info, desc_bytes. Completes when compiled.
	 */
	NPU_OP_MODEL_LOAD = 5,
	NPU_OP_MODEL_UNLOAD = 6, /* object = model id; waits for its jobs */
	/*
	 * object = tag of the job; completes at once with NPU_ST_OK, or
	 * NPU_ST_NOT_FOUND; the job itself then completes with NPU_ST_ABORTED.
	 */
	NPU_OP_ABORT = 7,
	NPU_OP_ENGINE_RESET = 8, /* all running jobs complete with NPU_ST_RESET */
	/* job queue */
	NPU_OP_INFER = 16, /* asid; object = model id; desc_addr: struct npu_job_desc */
	NPU_OP_COPY = 17, /* asid; arg[0] to, arg[1] from, arg[2] bytes, by the DMA engine */
};

struct npu_cmd {
	__u64 tag; /* not 0; comes back in the completion */
	__u32 op; /* enum npu_op */
	__u32 asid;
	__u64 object;
	__u64 arg[3];
	__u64 desc_addr; /* bus address */
	__u32 desc_bytes;
	__u32 reserved;
};

enum npu_status {
	NPU_ST_OK = 0,
	NPU_ST_BAD_COMMAND = 1,
	NPU_ST_NOT_FOUND = 2, /* model, address space or job */
	NPU_ST_FAULT = 3, /* MMU: npu_cpl.value is the address */
	NPU_ST_BAD_MODEL = 4, /* message says why */
	NPU_ST_UNSUPPORTED = 5, /* message says what */
	NPU_ST_TOO_SMALL = 6, /* an output does not fit; npu_tensor.needed is set */
	NPU_ST_BAD_TENSOR = 7, /* message says which */
	NPU_ST_ENGINE = 8, /* the engine failed; message says how */
	NPU_ST_ABORTED = 9,
	NPU_ST_RESET = 10,
	NPU_ST_NO_MEMORY = 11, /* of the device */
	NPU_ST_ECC = 12, /* uncorrected memory error during the job */
};

#define NPU_CPL_THROTTLED (1u << 0)
#define NPU_CPL_CACHED (1u << 1) /* model came from the compile cache */

struct npu_cpl {
	__u64 tag;
	__u32 op;
	__u32 status; /* enum npu_status */
	__u64 run_ns; /* time in the engine */
	__u64 value; /* by op and status */
	__u64 bytes_in_place; /* tensor bytes the engine used where they are */
	__u64 bytes_dma; /* tensor bytes the device moved by DMA */
	__u32 flags; /* NPU_CPL_* */
	__u32 energy_uj;
	__u64 reserved;
};

#define NPU_MESSAGE_BYTES 256
#define NPU_MAX_DIMS 8
#define NPU_RANK_ANY 0xffffffffU /* a tensor that may have any shape */
#define NPU_MAX_TENSORS 64 /* inputs, and outputs */
#define NPU_NAME_BYTES 128

/* dtype: numbers of ONNX TensorProto.DataType, see uapi/ai.h (strings too) */
struct npu_tensor {
	__u64 va; /* device address; 0 with 0 bytes for a tensor without elements */
	__u64 bytes; /* exact for an input, room for an output */
	__u64 needed; /* D: of an output */
	__u32 dtype; /* D for an output */
	__u32 rank; /* D for an output */
	__u64 dims[NPU_MAX_DIMS]; /* D for an output */
};

struct npu_job_desc {
	__u32 nr_inputs;
	__u32 nr_outputs;
	__u64 reserved;
	char message[NPU_MESSAGE_BYTES]; /* D */
	struct npu_tensor tensor[]; /* inputs first */
};

struct npu_tensor_info {
	char name[NPU_NAME_BYTES];
	__u32 dtype;
	__u32 rank; /* or NPU_RANK_ANY */
	__s64 dims[NPU_MAX_DIMS]; /* -1: decided by the caller or the data */
};

struct npu_model_info {
	char message[NPU_MESSAGE_BYTES]; /* D */
	__u32 nr_inputs; /* D */
	__u32 nr_outputs; /* D */
	__u64 compile_ns; /* D */
	struct npu_tensor_info tensor[2 * NPU_MAX_TENSORS]; /* D: inputs first */
};

/* ---- MMU: four levels of 512 entries, 48-bit device addresses ---- */

/*
 * A device address is a logical address made narrow: [class:2][number:6][page:28]
 * and 12 bits inside the page. Address space 0 is the driver's own.
 */
#define NPU_ASIDS 256
#define NPU_VA_BITS 48
#define NPU_PTE_VALID (1ULL << 0)
#define NPU_PTE_WRITE (1ULL << 1)
#define NPU_PTE_DEVICE (1ULL << 2) /* address is an offset in device memory */
#define NPU_PTE_LEAF (1ULL << 3) /* at level 1 (2 MiB) and level 0 (4 KiB) */
#define NPU_PTE_READ (1ULL << 4)
#define NPU_PTE_ADDR 0x000ffffffffff000ULL

/* ---- Firmware image ---- */

#define NPU_FW_MAGIC 0x46304941u /* "AI0F" */
#define NPU_FW_HEADER_VERSION 1
#define NPU_FW_HEADER_BYTES 256
#define NPU_FW_SIGNED_BYTES 192
#define NPU_FW_VERSION(major, minor, patch) \
	(((__u32)(major) << 16) | ((__u32)(minor) << 8) | (__u32)(patch))

/*
 * The signature is Ed25519 (RFC 8032) over the first NPU_FW_SIGNED_BYTES bytes,
 * which hold the SHA-256 of the code; the key id is the first eight bytes of the
 * SHA-256 of the raw public key.
 */
struct npu_fw_header {
	__u32 magic;
	__u32 header_version;
	__u32 header_bytes; /* the code follows */
	__u32 abi; /* NPU_ABI() the firmware speaks */
	__u32 version; /* NPU_FW_VERSION() */
	__u32 profiles; /* mask of 1 << enum npu_profile */
	__u64 code_bytes;
	__u64 load_addr; /* in the control core's address space */
	__u64 entry;
	__u8 sha256[32];
	__u8 key_id[8];
	char build[32]; /* for people, NUL-terminated */
	__u8 reserved0[72]; /* zero */
	__u8 signature[64];
};

#endif /* AI_NPU_ABI_H */
