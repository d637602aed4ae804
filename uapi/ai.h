/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * ai0: inference as a service of the kernel. The ioctl interface of /dev/ai0; its last
 * parts, contracts and shared memory, are in ai_contract.h and ai_memory.h.
 */
#ifndef _UAPI_LINUX_AI_H
#define _UAPI_LINUX_AI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * DOC: Conventions
 *
 * Every argument begins with &struct ai_hdr. A caller compiled against an older
 * header passes a smaller @size and the fields it does not know read as zero; a
 * caller compiled against a newer one may pass a larger @size as long as what
 * this kernel does not know is zero (else ``E2BIG``). A size below the first
 * published one, an unknown flag or a reserved field that is not zero is
 * ``EINVAL``. An unknown command is ``ENOTTY``.
 *
 * When a call fails and @error names a buffer, the kernel writes there one plain
 * sentence, NUL-terminated and cut to @error_len, that names the field, the
 * value found and the value needed. A call that succeeds leaves it untouched.
 *
 * Times are nanoseconds of ``CLOCK_MONOTONIC``. "Absolute" times are points on
 * that clock; zero means none; negative ones are refused.
 *
 * Error numbers mean the same in every call:
 *
 * ==============  ==========================================================
 * ``EINVAL``      a field holds a value that can never be right
 * ``E2BIG``       the caller uses fields that this kernel does not know
 * ``EFAULT``      a pointer does not point to memory of the caller
 * ``ENOENT``      no such address, model or device is known to this file
 * ``EACCES``      the address exists but belongs to somebody else, or its
 *                 permissions forbid the use
 * ``EPERM``       the caller lacks a capability for this
 * ``EBADF``       no such file descriptor is open
 * ``ENOSPC``      an output buffer is too small (``needed`` says how many bytes
 *                 it takes), or a device's memory or slots are used up
 * ``ENOMEM``      system memory is used up, or what ``RLIMIT_MEMLOCK`` allows
 * ``EFBIG``       larger than the documented limit
 * ``EEXIST``      this name and version are loaded already
 * ``EBUSY``       still in use
 * ``EAGAIN``      not ready yet (a model that is still compiling, a contract whose
 *                 fuse is open)
 * ``EBADMSG``     the artefact is not what it says: no ONNX, truncated, corrupt
 * ``EOPNOTSUPP``  the device or the model cannot do this
 * ``ENODEV``      the device is gone or was lost while it worked
 * ``EIO``         the device failed the job and cannot say more
 * ``EDQUOT``      a term of a contract is over budget; the answer says which
 * ``ESTALE``      the contract's reservation lapsed; %AI_CONTRACT_RENEW asks again
 * ``ETIME``       the time-out or the deadline passed
 * ``ECANCELED``   cancelled by %AI_CANCEL or by a reset that another job caused
 * ``EINTR``       a fatal signal arrived
 * ==============  ==========================================================
 */

#define AI_ABI_MAJOR 0
#define AI_ABI_MINOR 4

/* Limits: a value above one of these is refused, never cut. */
#define AI_MAX_DIMS 8
#define AI_MAX_TENSORS 64
#define AI_NAME_LEN 64
#define AI_TENSOR_NAME_LEN 128
#define AI_ERROR_LEN 256
/* ONNX is a protocol buffer, whose length is a signed 32-bit number. */
#define AI_MAX_MODEL_BYTES 0x7fffffffULL

/**
 * struct ai_hdr - head of every argument
 * @size: In: size of the whole argument as the caller knows it, in bytes
 * @flags: In: flags of this command
 * @error: In: user pointer to a buffer for the error sentence, or 0
 * @error_len: In: length of that buffer in bytes; %AI_ERROR_LEN always suffices
 * @reserved: must be zero
 */
struct ai_hdr {
	__u32 size;
	__u32 flags;
	__u64 error;
	__u32 error_len;
	__u32 reserved;
};

/**
 * DOC: Devices
 *
 * A device is numbered ``class << 6 | number``. Device 0, the first of class
 * CPU, is the system itself: the home of system memory. It runs no models.
 */

/**
 * enum ai_class - what a device is
 * @AI_CLASS_CPU: a processor; number 0 is the system itself
 * @AI_CLASS_GPU: a graphics processor
 * @AI_CLASS_NPU: a neural processor
 * @AI_CLASS_FPGA: programmable logic
 */
enum ai_class {
	AI_CLASS_CPU = 0,
	AI_CLASS_GPU = 1,
	AI_CLASS_NPU = 2,
	AI_CLASS_FPGA = 3,
};

#define AI_DEVICE(class, number) (((class) << 6) | (number))
#define AI_DEVICE_CLASS(device) (((device) >> 6) & 3)
#define AI_DEVICE_NUMBER(device) ((device) & 63)
/**
 * define AI_DEVICE_SYSTEM - home of system memory
 */
#define AI_DEVICE_SYSTEM AI_DEVICE(AI_CLASS_CPU, 0)
#define AI_MAX_DEVICES 256
/**
 * define AI_DEVICE_ANY - let the kernel choose the device
 */
#define AI_DEVICE_ANY 0xffffffffU

/**
 * DOC: Logical addresses
 *
 * A logical address names one page: ``[class:2][number:6][page:56]``, class and
 * number of the home device and the number of the page inside that device's
 * space. It stays the same while the page moves. Bytes are named by a logical
 * address and an offset. This kernel gives out page numbers below 2^28 (1 TiB a
 * home device); ``la << 12`` without the unused bits is then a 48-bit address,
 * which is what the devices' own page tables and mmap() offsets are made of.
 */
#define AI_LA_PAGE_BITS 56
#define AI_LA_DEVICE(la) ((__u32)((la) >> AI_LA_PAGE_BITS))
#define AI_LA_PAGE(la) ((la) & ((1ULL << AI_LA_PAGE_BITS) - 1))

/**
 * define AI_FEATURE_CONTRACTS - bit of &ai_info.features, %AI_CONTRACT_CREATE is there
 */
#define AI_FEATURE_CONTRACTS (1ULL << 0)
/**
 * define AI_FEATURE_FALLBACK - bit of &ai_info.features, contracts can name a fallback, share,
 *	bandwidth and precision
 */
#define AI_FEATURE_FALLBACK (1ULL << 1)
/**
 * define AI_FEATURE_DUMP - bit of &ai_info.features, %AI_DUMP is there
 */
#define AI_FEATURE_DUMP (1ULL << 2)
/**
 * define AI_FEATURE_DMABUF - bit of &ai_info.features, %AI_EXPORT, %AI_IMPORT and %AI_SYNC
 *	are there
 */
#define AI_FEATURE_DMABUF (1ULL << 3)

/**
 * struct ai_info - AI_INFO: what this kernel offers
 * @hdr: see &struct ai_hdr; no flags
 * @abi_major: Out: %AI_ABI_MAJOR of the kernel
 * @abi_minor: Out: %AI_ABI_MINOR of the kernel
 * @features: Out: AI_FEATURE_* bits of what is supported beyond the base
 * @page_size: Out: bytes a logical page has
 * @nr_devices: Out: devices registered at this moment, without device 0
 * @max_tensors: Out: most inputs, and most outputs, a model may have
 * @max_dims: Out: most dimensions a tensor may have
 * @max_model_bytes: Out: largest model artefact
 * @max_alloc_bytes: Out: largest single allocation
 */
struct ai_info {
	struct ai_hdr hdr;
	__u32 abi_major;
	__u32 abi_minor;
	__u64 features;
	__u32 page_size;
	__u32 nr_devices;
	__u32 max_tensors;
	__u32 max_dims;
	__u64 max_model_bytes;
	__u64 max_alloc_bytes;
};

/**
 * enum ai_health - whether a device can be used
 * @AI_HEALTH_OK: works
 * @AI_HEALTH_THROTTLED: works, slower, because of heat or power
 * @AI_HEALTH_RECOVERING: being reset; jobs wait
 * @AI_HEALTH_FAILED: recovery ended without success
 */
enum ai_health {
	AI_HEALTH_OK = 0,
	AI_HEALTH_THROTTLED = 1,
	AI_HEALTH_RECOVERING = 2,
	AI_HEALTH_FAILED = 3,
};

/**
 * define AI_DEVICE_NEXT - bit of &ai_hdr.flags, answer for the first device not below @device
 */
#define AI_DEVICE_NEXT (1U << 0)

/**
 * define AI_DEVICE_F_EMULATED - bit of &ai_device_info.properties, no silicon behind it
 */
#define AI_DEVICE_F_EMULATED (1U << 0)
/**
 * define AI_DEVICE_F_MODELS - bit of &ai_device_info.properties, runs models
 */
#define AI_DEVICE_F_MODELS (1U << 1)
/**
 * define AI_DEVICE_F_MEMORY - bit of &ai_device_info.properties, has memory of its own
 */
#define AI_DEVICE_F_MEMORY (1U << 2)
/**
 * define AI_DEVICE_F_MMU - bit of &ai_device_info.properties, one address space an open file
 */
#define AI_DEVICE_F_MMU (1U << 3)

/**
 * struct ai_device_info - AI_DEVICE_INFO: one device
 * @hdr: see &struct ai_hdr; flags: %AI_DEVICE_NEXT
 * @device: In/Out: number of the device
 * @health: Out: &enum ai_health
 * @properties: Out: AI_DEVICE_F_* bits
 * @generation: Out: counts the resets; what belonged to an older one is stale
 * @queue_depth: Out: jobs the device takes at once
 * @queued: Out: jobs that wait or run now
 * @mem_total: Out: bytes of device memory
 * @mem_free: Out: bytes of it neither allocated nor reserved
 * @jobs_done: Out: jobs completed without error since the driver was bound
 * @jobs_failed: Out: jobs completed with an error since then; one that found an
 *	output too small and said what it needs counts neither as done nor as failed
 * @busy_ns: Out: time during which at least one job ran
 * @temp_mc: Out: temperature in thousandths of a degree Celsius
 * @temp_throttle_mc: Out: temperature at which the device slows down
 * @power_mw: Out: power drawn now, in milliwatts
 * @power_limit_mw: Out: most power the device is made for, in milliwatts
 * @clock_mhz: Out: clock of the compute engine
 * @clock_max_mhz: Out: highest such clock
 * @name: Out: short name, for example npu0
 * @product: Out: what it is, for people; says so when it is an emulation
 * @firmware: Out: firmware version, empty if it has none
 * @engine: Out: what executes models, with version
 * @bus: Out: where it is attached, for example a PCI address
 * @bandwidth: Out: bytes of tensor data that it can move a second, 0 if it does not say
 * @reserved_bandwidth: Out: of these promised to contracts
 */
struct ai_device_info {
	struct ai_hdr hdr;
	__u32 device;
	__u32 health;
	__u32 properties;
	__u32 generation;
	__u32 queue_depth;
	__u32 queued;
	__u64 mem_total;
	__u64 mem_free;
	__u64 jobs_done;
	__u64 jobs_failed;
	__u64 busy_ns;
	__s32 temp_mc;
	__s32 temp_throttle_mc;
	__u32 power_mw;
	__u32 power_limit_mw;
	__u32 clock_mhz;
	__u32 clock_max_mhz;
	char name[16];
	char product[64];
	char firmware[32];
	char engine[48];
	char bus[32];
	__u64 bandwidth;
	__u64 reserved_bandwidth;
};

/**
 * DOC: Memory
 *
 * %AI_ALLOC gives a range of logical pages of a home device, zeroed. mmap() of
 * /dev/ai0 at @mmap_offset, shared, maps the range or a part of it; it can be
 * mapped any number of times. The pages go when the last user goes: the handle
 * (ended by %AI_FREE or by closing the file), the mappings, the running jobs.
 */

/**
 * define AI_PERM_READ - devices may read
 */
#define AI_PERM_READ (1U << 0)
/**
 * define AI_PERM_WRITE - devices may write
 */
#define AI_PERM_WRITE (1U << 1)

/**
 * enum ai_cache - how the CPU sees the pages
 * @AI_CACHE_DEFAULT: cached for system memory, else write-combined
 * @AI_CACHE_CACHED: cached
 * @AI_CACHE_WRITECOMBINE: not cached, writes are gathered
 */
enum ai_cache {
	AI_CACHE_DEFAULT = 0,
	AI_CACHE_CACHED = 1,
	AI_CACHE_WRITECOMBINE = 2,
};

/**
 * define AI_ALLOC_MAP - bit of &ai_hdr.flags, map the range as mmap() would and return @address
 */
#define AI_ALLOC_MAP (1U << 0)
/**
 * define AI_ALLOC_CONTRACT - bit of &ai_hdr.flags, out of what @contract reserves
 */
#define AI_ALLOC_CONTRACT (1U << 1)

/**
 * struct ai_alloc - AI_ALLOC: allocate memory
 * @hdr: see &struct ai_hdr; flags: %AI_ALLOC_MAP, %AI_ALLOC_CONTRACT
 * @bytes: In: size, at least 1. Out: rounded up to pages
 * @device: In: home: %AI_DEVICE_SYSTEM or a device with %AI_DEVICE_F_MEMORY
 * @perm: In: AI_PERM_* bits for devices, at least one
 * @cache: In: &enum ai_cache. Out: what it became
 * @reserved: must be zero
 * @la: Out: logical address of the first page
 * @mmap_offset: Out: offset for mmap()
 * @address: Out: user address with %AI_ALLOC_MAP, else 0
 * @contract: In: with %AI_ALLOC_CONTRACT the contract's file descriptor, else 0
 * @reserved2: must be zero
 */
struct ai_alloc {
	struct ai_hdr hdr;
	__u64 bytes;
	__u32 device;
	__u32 perm;
	__u32 cache;
	__u32 reserved;
	__u64 la;
	__u64 mmap_offset;
	__u64 address;
	__s32 contract;
	__u32 reserved2;
};

/**
 * define AI_FREE_UNMAP - bit of &ai_hdr.flags, unmap @address as well, see %AI_ALLOC_MAP
 */
#define AI_FREE_UNMAP (1U << 0)

/**
 * struct ai_free - AI_FREE: end a handle
 * @hdr: see &struct ai_hdr; flags: %AI_FREE_UNMAP
 * @la: In: logical address as %AI_ALLOC gave it
 * @address: In: with %AI_FREE_UNMAP where the whole range is mapped, else 0
 */
struct ai_free {
	struct ai_hdr hdr;
	__u64 la;
	__u64 address;
};

/**
 * struct ai_region_info - AI_REGION_INFO: what is behind a logical address
 * @hdr: see &struct ai_hdr; no flags
 * @la: In: any page of the range. Out: the first
 * @bytes: Out: size of the range
 * @mmap_offset: Out: offset for mmap()
 * @device: Out: home device
 * @perm: Out: AI_PERM_* bits
 * @cache: Out: &enum ai_cache
 * @refs: Out: users of the pages at this moment, the handle included
 * @mappings: Out: user mappings among them
 * @largest_folio: Out: bytes of the largest physically contiguous piece, 0 if only the
 *	exporter knows
 * @origin: Out: &enum ai_origin
 * @reserved: Out: zero
 */
struct ai_region_info {
	struct ai_hdr hdr;
	__u64 la;
	__u64 bytes;
	__u64 mmap_offset;
	__u32 device;
	__u32 perm;
	__u32 cache;
	__u32 refs;
	__u32 mappings;
	__u32 largest_folio;
	__u32 origin;
	__u32 reserved;
};

/**
 * DOC: Models and tensors
 *
 * Data types carry the numbers of ONNX's TensorProto.DataType. Elements are
 * dense, in row-major order, little-endian. A tensor of strings is a table of
 * n + 1 64-bit offsets, the first one zero, followed by the characters: string
 * i is the bytes from offset[i] up to offset[i + 1], counted from the end of the
 * table. A tensor of rank 0 is a scalar.
 */

/**
 * enum ai_dtype - element type of a tensor
 * @AI_DTYPE_FLOAT: 32-bit IEEE 754
 * @AI_DTYPE_UINT8: 8-bit unsigned
 * @AI_DTYPE_INT8: 8-bit signed
 * @AI_DTYPE_UINT16: 16-bit unsigned
 * @AI_DTYPE_INT16: 16-bit signed
 * @AI_DTYPE_INT32: 32-bit signed
 * @AI_DTYPE_INT64: 64-bit signed
 * @AI_DTYPE_STRING: strings, see above
 * @AI_DTYPE_BOOL: one byte, 0 or 1
 * @AI_DTYPE_FLOAT16: 16-bit IEEE 754
 * @AI_DTYPE_DOUBLE: 64-bit IEEE 754
 * @AI_DTYPE_UINT32: 32-bit unsigned
 * @AI_DTYPE_UINT64: 64-bit unsigned
 * @AI_DTYPE_COMPLEX64: two 32-bit floats, real part first
 * @AI_DTYPE_COMPLEX128: two 64-bit floats, real part first
 * @AI_DTYPE_BFLOAT16: upper half of a 32-bit float
 */
enum ai_dtype {
	AI_DTYPE_FLOAT = 1,
	AI_DTYPE_UINT8 = 2,
	AI_DTYPE_INT8 = 3,
	AI_DTYPE_UINT16 = 4,
	AI_DTYPE_INT16 = 5,
	AI_DTYPE_INT32 = 6,
	AI_DTYPE_INT64 = 7,
	AI_DTYPE_STRING = 8,
	AI_DTYPE_BOOL = 9,
	AI_DTYPE_FLOAT16 = 10,
	AI_DTYPE_DOUBLE = 11,
	AI_DTYPE_UINT32 = 12,
	AI_DTYPE_UINT64 = 13,
	AI_DTYPE_COMPLEX64 = 14,
	AI_DTYPE_COMPLEX128 = 15,
	AI_DTYPE_BFLOAT16 = 16,
};

/**
 * enum ai_format - format of a model artefact
 * @AI_FORMAT_ONNX: a serialised ONNX ModelProto
 */
enum ai_format {
	AI_FORMAT_ONNX = 1,
};

/**
 * enum ai_precision - arithmetic of a model, from the least precise on
 * @AI_PRECISION_NONE: not said, or none asked for
 * @AI_PRECISION_INT4: integers of 4 bits
 * @AI_PRECISION_INT8: integers of 8 bits
 * @AI_PRECISION_FP8: floating point, 8 bits
 * @AI_PRECISION_BF16: floating point, 16 bits, 8 of them exponent
 * @AI_PRECISION_FP16: floating point, 16 bits, IEEE 754
 * @AI_PRECISION_FP32: floating point, 32 bits
 * @AI_PRECISION_FP64: floating point, 64 bits
 */
enum ai_precision {
	AI_PRECISION_NONE = 0,
	AI_PRECISION_INT4 = 1,
	AI_PRECISION_INT8 = 2,
	AI_PRECISION_FP8 = 3,
	AI_PRECISION_BF16 = 4,
	AI_PRECISION_FP16 = 5,
	AI_PRECISION_FP32 = 6,
	AI_PRECISION_FP64 = 7,
};

/**
 * enum ai_model_state - life of a model
 * @AI_MODEL_COMPILING: the device makes it ready
 * @AI_MODEL_READY: can be called
 * @AI_MODEL_FAILED: could not be made ready
 */
enum ai_model_state {
	AI_MODEL_COMPILING = 0,
	AI_MODEL_READY = 1,
	AI_MODEL_FAILED = 2,
};

/**
 * define AI_MODEL_NOWAIT - bit of &ai_hdr.flags, return while the device still compiles
 */
#define AI_MODEL_NOWAIT (1U << 0)

/**
 * struct ai_model_load - AI_MODEL_LOAD: give a model to a device
 * @hdr: see &struct ai_hdr; flags: %AI_MODEL_NOWAIT
 * @data: In: user pointer to the artefact; the kernel takes a copy
 * @bytes: In: its size, at most %AI_MAX_MODEL_BYTES
 * @timeout_ns: In: absolute; when it passes the call ends with ``ETIME`` and the
 *	model is unloaded
 * @device: In: a device or %AI_DEVICE_ANY. Out: where it was loaded
 * @format: In: &enum ai_format
 * @version: In: version, or 0 for one above the highest of this name in this
 *	file. Out: what it became. Versions live side by side; a call names one
 *	by its handle
 * @precision: In: &enum ai_precision of the model, for the terms of contracts
 * @name: In: name, printable, NUL-terminated
 * @model: Out: handle, valid in this file
 * @nr_inputs: Out: number of inputs, 0 with %AI_MODEL_NOWAIT
 * @nr_outputs: Out: number of outputs, 0 with %AI_MODEL_NOWAIT
 * @cached: Out: 1 if the device had the compiled form in its cache
 * @compile_ns: Out: time the device took to make the model ready
 */
struct ai_model_load {
	struct ai_hdr hdr;
	__u64 data;
	__u64 bytes;
	__s64 timeout_ns;
	__u32 device;
	__u32 format;
	__u32 version;
	__u32 precision;
	char name[AI_NAME_LEN];
	__u32 model;
	__u32 nr_inputs;
	__u32 nr_outputs;
	__u32 cached;
	__u64 compile_ns;
};

/**
 * define AI_RANK_ANY - &ai_tensor_info.rank of a tensor that may have any shape
 */
#define AI_RANK_ANY 0xffffffffU

/**
 * struct ai_tensor_info - what a model says of one input or output
 * @name: name inside the model, cut to fit
 * @dtype: &enum ai_dtype
 * @rank: number of dimensions, or %AI_RANK_ANY: the caller or the data decides
 * @dims: sizes; -1 for one that the caller or the data decides
 */
struct ai_tensor_info {
	char name[AI_TENSOR_NAME_LEN];
	__u32 dtype;
	__u32 rank;
	__s64 dims[AI_MAX_DIMS];
};

/**
 * struct ai_model_info - AI_MODEL_INFO: what is known of a model
 * @hdr: see &struct ai_hdr; no flags
 * @model: In: handle
 * @state: Out: &enum ai_model_state; for a failed one the sentence that
 *	%AI_MODEL_LOAD would have given is in @reason
 * @tensors: In: user pointer to an array of &struct ai_tensor_info, inputs first
 * @capacity: In: elements of that array; as many as fit are written
 * @version: Out: version
 * @nr_inputs: Out: number of inputs
 * @nr_outputs: Out: number of outputs
 * @device: Out: where it is loaded
 * @cached: Out: 1 if the compiled form came from the device's cache
 * @bytes: Out: size of the artefact
 * @compile_ns: Out: time the device took to make the model ready
 * @jobs: Out: inferences completed
 * @name: Out: name
 * @reason: Out: why it failed, empty otherwise
 * @precision: Out: &enum ai_precision, as given to %AI_MODEL_LOAD
 * @reserved: Out: zero
 */
struct ai_model_info {
	struct ai_hdr hdr;
	__u32 model;
	__u32 state;
	__u64 tensors;
	__u32 capacity;
	__u32 version;
	__u32 nr_inputs;
	__u32 nr_outputs;
	__u32 device;
	__u32 cached;
	__u64 bytes;
	__u64 compile_ns;
	__u64 jobs;
	char name[AI_NAME_LEN];
	char reason[AI_ERROR_LEN];
	__u32 precision;
	__u32 reserved;
};

/**
 * struct ai_model_unload - AI_MODEL_UNLOAD: end a model's handle
 * @hdr: see &struct ai_hdr; no flags
 * @model: In: handle; jobs that run keep the model until they end
 * @reserved: must be zero
 */
struct ai_model_unload {
	struct ai_hdr hdr;
	__u32 model;
	__u32 reserved;
};

/**
 * struct ai_tensor - one tensor of a call
 * @la: In: logical address of any page of a range of this file
 * @offset: In: bytes from the beginning of that page, a multiple of the element
 *	size; may lead into later pages of the range
 * @bytes: In: for an input its exact size, for an output the room there is
 * @needed: Out: for an output the bytes it has or, with ``ENOSPC``, would have
 * @dtype: In: &enum ai_dtype of an input. Out: of an output
 * @rank: In: dimensions of an input. Out: of an output
 * @dims: In: sizes of an input. Out: of an output; unused ones are zero
 */
struct ai_tensor {
	__u64 la;
	__u64 offset;
	__u64 bytes;
	__u64 needed;
	__u32 dtype;
	__u32 rank;
	__u64 dims[AI_MAX_DIMS];
};

/**
 * define AI_RECORD_LATE - bit of &ai_record.flags, ended after its deadline
 */
#define AI_RECORD_LATE (1U << 0)
/**
 * define AI_RECORD_RERUN - bit of &ai_record.flags, ran again after a reset that another job caused
 */
#define AI_RECORD_RERUN (1U << 1)
/**
 * define AI_RECORD_THROTTLED - bit of &ai_record.flags, the device was throttled while it ran
 */
#define AI_RECORD_THROTTLED (1U << 2)

/**
 * struct ai_record - where and how an inference ran
 * @job: number of the job, the same in the trace events
 * @queue_ns: time from submission until the device took it
 * @run_ns: time from then until the device was done
 * @bytes_cpu: bytes of tensor data that the CPU copied on its way
 * @bytes_dma: bytes of tensor data that a DMA engine moved
 * @bytes_in_place: bytes of tensor data the engine used where they are
 * @fault_la: logical address the device could not reach, 0 if none
 * @device: where it ran
 * @generation: of the device when it ended
 * @flags: AI_RECORD_* bits
 * @reserved: zero
 * @device_name: short name of the device
 * @firmware: firmware version of the device
 */
struct ai_record {
	__u64 job;
	__u64 queue_ns;
	__u64 run_ns;
	__u64 bytes_cpu;
	__u64 bytes_dma;
	__u64 bytes_in_place;
	__u64 fault_la;
	__u32 device;
	__u32 generation;
	__u32 flags;
	__u32 reserved;
	char device_name[16];
	char firmware[32];
};

/**
 * define AI_INFER_CONTRACT - bit of &ai_hdr.flags, the job belongs to @contract
 */
#define AI_INFER_CONTRACT (1U << 0)

/**
 * enum ai_service - how a result compares with the terms of its contract
 * @AI_SERVICE_NONE: there is no contract, or the job gave no result
 * @AI_SERVICE_MET: all terms were kept
 * @AI_SERVICE_EXCESS: it came sooner than the contract's rate allows, so that it was
 *	served like one without a contract
 * @AI_SERVICE_VIOLATED: a term was broken; &ai_infer.broken says which
 * @AI_SERVICE_DEGRADED: no term was broken, but it ran on the fallback;
 *	&ai_infer.moved says why
 */
enum ai_service {
	AI_SERVICE_NONE = 0,
	AI_SERVICE_MET = 1,
	AI_SERVICE_EXCESS = 2,
	AI_SERVICE_VIOLATED = 3,
	AI_SERVICE_DEGRADED = 4,
};

/**
 * struct ai_infer - AI_INFER: run a model once and wait for the result
 * @hdr: see &struct ai_hdr; flags: %AI_INFER_CONTRACT
 * @inputs: In: user pointer to @nr_inputs &struct ai_tensor
 * @outputs: In/Out: user pointer to @nr_outputs &struct ai_tensor
 * @nr_inputs: In: must be what the model has
 * @nr_outputs: In: must be what the model has
 * @model: In: handle
 * @priority: In: 0 (default) to 7; higher goes first, for as long as there are
 *	such; above 3 the caller needs ``CAP_SYS_NICE``, else ``EPERM``
 * @deadline_ns: In: absolute; among equal priorities the earliest goes first, and
 *	a job that has not started by then ends with ``ETIME``
 * @timeout_ns: In: absolute; the call ends by then, with ``ETIME`` if the job has
 *	not ended. 0: the device's own time-out for one job
 * @cookie: In: for %AI_CANCEL and the trace; any value
 * @record: Out: written whenever a job was made, whether it succeeded or not;
 *	@record.job is 0 when it was refused before that
 * @contract: In: with %AI_INFER_CONTRACT the contract's file descriptor, else 0.
 *	On the contract's device its jobs go before all others, by the time at which
 *	its terms say that they are due; @priority does not count among them
 * @service: Out: &enum ai_service
 * @broken: Out: bits ``1 << enum ai_term`` of the terms that were broken
 * @moved: Out: 0 if it ran where the model is, else the &enum ai_term because of
 *	which it went to the contract's fallback
 * @latency_ns: Out: time from submission to the end
 * @energy_uj: Out: energy the device drew for it, in microjoules: its power, as
 *	last measured, over the time in which it was busy with the job
 */
struct ai_infer {
	struct ai_hdr hdr;
	__u64 inputs;
	__u64 outputs;
	__u32 nr_inputs;
	__u32 nr_outputs;
	__u32 model;
	__u32 priority;
	__s64 deadline_ns;
	__s64 timeout_ns;
	__u64 cookie;
	struct ai_record record;
	__s32 contract;
	__u32 service;
	__u32 broken;
	__u32 moved;
	__u64 latency_ns;
	__u64 energy_uj;
};

/**
 * struct ai_cancel - AI_CANCEL: end jobs of this file early
 * @hdr: see &struct ai_hdr; no flags
 * @cookie: In: the jobs that carry this cookie
 * @cancelled: Out: how many were told to end
 * @reserved: must be zero
 */
struct ai_cancel {
	struct ai_hdr hdr;
	__u64 cookie;
	__u32 cancelled;
	__u32 reserved;
};

/**
 * struct ai_dump - AI_DUMP: all that is known of a device at this moment
 * @hdr: see &struct ai_hdr; no flags
 * @buffer: In: user pointer to where the dump goes, in the format of ai_dump.h
 * @capacity: In: its size in bytes
 * @needed: Out: size of the dump, on success and with ``ENOSPC``; the next one may be larger
 * @job: In: a job that has not ended and whose tensors are of interest; 0 for those in flight
 * @device: In: number of the device
 * @reserved: must be zero
 *
 * With ``CAP_SYS_ADMIN`` everything is in it. Without, registers, the driver's state,
 * page tables and the firmware's log are left out, and of jobs, contracts, events and
 * decisions there are those of the caller's file and of contracts of the caller's user.
 */
struct ai_dump {
	struct ai_hdr hdr;
	__u64 buffer;
	__u64 capacity;
	__u64 needed;
	__u64 job;
	__u32 device;
	__u32 reserved;
};

/* Struct sizes of the first published version: the least a caller may pass; and later ones. */
#define AI_INFO_SIZE_VER0 72
#define AI_DEVICE_INFO_SIZE_VER0 304
#define AI_DEVICE_INFO_SIZE_VER1 320
#define AI_ALLOC_SIZE_VER0 72
#define AI_ALLOC_SIZE_VER1 80
#define AI_FREE_SIZE_VER0 40
#define AI_REGION_INFO_SIZE_VER0 72
#define AI_REGION_INFO_SIZE_VER1 80
#define AI_MODEL_LOAD_SIZE_VER0 152
#define AI_MODEL_INFO_SIZE_VER0 408
#define AI_MODEL_INFO_SIZE_VER1 416
#define AI_MODEL_UNLOAD_SIZE_VER0 32
#define AI_INFER_SIZE_VER0 200
#define AI_INFER_SIZE_VER1 232
#define AI_CANCEL_SIZE_VER0 40
#define AI_DUMP_SIZE_VER0 64

#define AI_IOC_MAGIC 0xA9

#define AI_INFO _IOWR(AI_IOC_MAGIC, 0x00, struct ai_info)
#define AI_DEVICE_INFO _IOWR(AI_IOC_MAGIC, 0x01, struct ai_device_info)
#define AI_ALLOC _IOWR(AI_IOC_MAGIC, 0x02, struct ai_alloc)
#define AI_FREE _IOWR(AI_IOC_MAGIC, 0x03, struct ai_free)
#define AI_REGION_INFO _IOWR(AI_IOC_MAGIC, 0x04, struct ai_region_info)
#define AI_MODEL_LOAD _IOWR(AI_IOC_MAGIC, 0x05, struct ai_model_load)
#define AI_MODEL_INFO _IOWR(AI_IOC_MAGIC, 0x06, struct ai_model_info)
#define AI_MODEL_UNLOAD _IOWR(AI_IOC_MAGIC, 0x07, struct ai_model_unload)
#define AI_INFER _IOWR(AI_IOC_MAGIC, 0x08, struct ai_infer)
#define AI_CANCEL _IOWR(AI_IOC_MAGIC, 0x09, struct ai_cancel)
#define AI_DUMP _IOWR(AI_IOC_MAGIC, 0x0f, struct ai_dump)

#if defined(__cplusplus)
}
#endif

#include "ai_contract.h"
#include "ai_memory.h"

#endif /* _UAPI_LINUX_AI_H */
