/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a device and this process both see, and that can be shared with others: by
 * descriptor, without a copy.
 *
 *     auto pixels = ai::Buffer::import(session, 7).or_throw(); // a dma-buf or a memfd
 *     auto frame = ai::Tensor::view(pixels, ai::Bytes(0), ai::DType::kUint8,
 *                                   ai::Shape(1080, 1920, 3)).or_throw();
 *     ai::UniqueFd fd = pixels->share({.read_only = true}).or_throw(); // for somebody else
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <ai/export.h>
#include <ai/result.h>
#include <ai/session.h>
#include <ai/types.h>
#include <ai/unique_fd.h>

namespace ai {

class Contract;

/* What devices may do with a buffer. */
enum class Access : std::uint32_t { kRead = 1, kWrite = 2, kReadWrite = 3 };

/* How this process sees the pages. */
enum class Cache : std::uint32_t {
    kDefault = 0, /* cached for system memory, else write-combined */
    kCached = 1,
    kWriteCombine = 2,
};

struct AllocOptions {
    DeviceId home = kSystem; /* or a device with memory of its own */
    Access access = Access::kReadWrite;
    Cache cache = Cache::kDefault;
    /* Take it from what this contract reserves of @home; not owned, null: from all. */
    const Contract* contract = nullptr;
};

/* Where the pages come from. */
enum class Origin : std::uint32_t {
    kAllocated = 0,    /* here, or by another who shares it */
    kView = 1,         /* a part of another range, or one with fewer permissions */
    kDmaBuf = 2,       /* of somebody else */
    kMemfd = 3,        /* pinned */
    kProcessMemory = 4 /* pinned */
};

LIBAI_API const char* to_string(Origin origin);

struct ImportOptions {
    Bytes offset{}; /* whole pages */
    Bytes size{};   /* whole pages; 0: all from @offset on */
    Access access = Access::kReadWrite;
};

struct ShareOptions {
    Bytes offset{}; /* whole pages */
    Bytes size{};   /* whole pages; 0: all from @offset on */
    bool read_only = false;
};

class CpuUse;

/*
 * A range of pages, mapped here: allocated in the kernel, zeroed, or imported from
 * somebody who has them already. The memory goes back when the Buffer goes and nobody
 * shares it; a job that still runs keeps it until it has ended.
 *
 * Members may be called from several threads. Who writes while a device reads gets
 * what both make of it.
 */
class LIBAI_API Buffer {
public:
    /* At least @size, rounded up to pages. ENOMEM, ENOSPC, EFBIG, ENOENT. */
    static Result<std::shared_ptr<Buffer>> allocate(const Session& session, Bytes size,
                                                    const AllocOptions& options = {});

    /*
     * The pages of a dma-buf, also one that share() made, or of a memfd sealed with
     * F_SEAL_SHRINK; @fd may be closed afterwards. A memfd is pinned, which counts against
     * RLIMIT_MEMLOCK. EBADF, EINVAL for another kind of file and for what is beyond its
     * end, EACCES for writing what is read-only, ENOMEM.
     */
    static Result<std::shared_ptr<Buffer>> import(const Session& session, int fd,
                                                  const ImportOptions& options = {});

    /*
     * Memory of this process, whole pages, pinned, which counts against RLIMIT_MEMLOCK.
     * data() is @memory, which stays the caller's and is to be there for as long as the
     * Buffer is. EFAULT for what cannot be written or pinned, EINVAL, ENOMEM.
     */
    static Result<std::shared_ptr<Buffer>> register_memory(const Session& session,
                                                           std::span<std::byte> memory,
                                                           Access access = Access::kReadWrite);

    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer();

    /* The mapped pages. Valid as long as the Buffer is. Written only if is_writable(). */
    std::span<std::byte> data() const { return data_; }
    Bytes size() const { return Bytes(data_.size()); }
    LogicalAddress address() const { return address_; }
    Cache cache() const { return cache_; }
    Origin origin() const { return origin_; }
    bool is_writable() const { return writable_; }

    /*
     * A dma-buf of the pages, for another process, driver or library, which keeps them.
     * EACCES for one that can be written of what cannot; EOPNOTSUPP for a part of what was
     * imported from a dma-buf.
     */
    Result<UniqueFd> share(const ShareOptions& options = {}) const;

    /*
     * Says that the CPU is about to use the pages, and with the end of what is returned
     * that it has: waits for fences of others, for writers alone if @access is kRead, and
     * sees to the caches. Only needed for what is shared with others than jobs of this
     * process. @timeout 0: none; ETIME, whose sentence names who did not let go.
     */
    Result<CpuUse> use(Access access, Nanoseconds timeout = Nanoseconds(0)) const;

private:
    friend class CpuUse;

    Buffer(std::shared_ptr<detail::File> file, LogicalAddress address, std::span<std::byte> data,
           Cache cache, Origin origin, bool mapped, bool writable);

    static Result<std::shared_ptr<Buffer>> map_import(std::shared_ptr<detail::File> file,
                                                      LogicalAddress address,
                                                      std::uint64_t mmap_offset, Bytes size,
                                                      Cache cache, Origin origin);
    Result<void> sync(std::uint32_t flags, std::int64_t timeout_ns) const;

    std::shared_ptr<detail::File> file_;
    LogicalAddress address_;
    std::span<std::byte> data_;
    Cache cache_;
    Origin origin_;
    bool mapped_; /* by this object, and to be unmapped */
    bool writable_;
};

/* That the CPU uses a Buffer, see Buffer::use(). Move-only; the Buffer outlives it. */
class LIBAI_API CpuUse {
public:
    CpuUse(CpuUse&& other) noexcept;
    CpuUse& operator=(CpuUse&& other) noexcept;
    CpuUse(const CpuUse&) = delete;
    CpuUse& operator=(const CpuUse&) = delete;
    ~CpuUse();

    /* Ends it and says whether that worked. */
    Result<void> end();

private:
    friend class Buffer;

    CpuUse(const Buffer& buffer, Access access) : buffer_(&buffer), access_(access) {}

    const Buffer* buffer_;
    Access access_;
};

} // namespace ai
