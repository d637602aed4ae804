/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a device and this process both see. */
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <ai/export.h>
#include <ai/result.h>
#include <ai/session.h>
#include <ai/types.h>

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

/*
 * A range of zeroed pages, allocated in the kernel and mapped here. The memory goes
 * back when the Buffer goes; a job that still runs keeps it until it has ended.
 *
 * Members may be called from several threads. Who writes while a device reads gets
 * what both make of it.
 */
class AI_EXPORT Buffer {
public:
    /* At least @size, rounded up to pages. ENOMEM, ENOSPC, EFBIG, ENOENT. */
    static Result<std::shared_ptr<Buffer>> allocate(const Session& session, Bytes size,
                                                    const AllocOptions& options = {});

    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer();

    /* The mapped pages. Valid as long as the Buffer is. */
    std::span<std::byte> data() const { return data_; }
    Bytes size() const { return Bytes(data_.size()); }
    LogicalAddress address() const { return address_; }
    Cache cache() const { return cache_; }

private:
    Buffer(std::shared_ptr<detail::File> file, LogicalAddress address, std::span<std::byte> data,
           Cache cache);

    std::shared_ptr<detail::File> file_;
    LogicalAddress address_;
    std::span<std::byte> data_;
    Cache cache_;
};

} // namespace ai
