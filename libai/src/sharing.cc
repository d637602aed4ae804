/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers that are shared: with other processes, drivers and libraries, by descriptor. */
#include <cerrno>

#include <ai/buffer.h>
#include <ai/terms.h>

#include "clock.h"
#include "file.h"

namespace ai {

static_assert(static_cast<std::uint32_t>(Origin::kProcessMemory) == AI_ORIGIN_USER);
static_assert(static_cast<std::uint32_t>(Access::kRead) == AI_SYNC_READ &&
              static_cast<std::uint32_t>(Access::kWrite) == AI_SYNC_WRITE);

const char* to_string(Origin origin)
{
    switch (origin) {
    case Origin::kAllocated:
        return "allocated";
    case Origin::kView:
        return "view";
    case Origin::kDmaBuf:
        return "dma-buf";
    case Origin::kMemfd:
        return "memfd";
    case Origin::kProcessMemory:
        return "process memory";
    }
    return "unknown";
}

Result<std::shared_ptr<Buffer>> Buffer::map_import(std::shared_ptr<detail::File> file,
                                                   LogicalAddress address,
                                                   std::uint64_t mmap_offset, Bytes size,
                                                   Cache cache, Origin origin)
{
    std::byte* pages = nullptr;
    bool writable = true;
    int ret = file->syscalls().map(file->fd(), mmap_offset, size, true, &pages);

    if (ret == -EACCES) {
        writable = false;
        ret = file->syscalls().map(file->fd(), mmap_offset, size, false, &pages);
    }
    /* Made in any case, so that the handle is ended. */
    std::shared_ptr<Buffer> buffer(new Buffer(
        std::move(file), address, {pages, ret ? 0 : size.count()}, cache, origin, !ret, writable));
    if (ret)
        return Error{-ret, "the " + to_string(size) + " that were imported cannot be mapped (" +
                               error_name(-ret) + ")"};
    return buffer;
}

Result<std::shared_ptr<Buffer>> Buffer::import(const Session& session, int fd,
                                               const ImportOptions& options)
{
    const std::shared_ptr<detail::File>& file = detail::File::of(session);
    ai_import argument{};

    argument.kind = AI_IMPORT_FD;
    argument.fd = fd;
    argument.offset = options.offset.count();
    argument.bytes = options.size.count();
    argument.perm = static_cast<std::uint32_t>(options.access);
    if (Result<void> result = file->call(AI_IMPORT, "AI_IMPORT", argument); !result)
        return std::move(result).error();
    return map_import(file, LogicalAddress(argument.la), argument.mmap_offset,
                      Bytes(argument.bytes), static_cast<Cache>(argument.cache),
                      static_cast<Origin>(argument.origin));
}

Result<std::shared_ptr<Buffer>> Buffer::register_memory(const Session& session,
                                                        std::span<std::byte> memory, Access access)
{
    const std::shared_ptr<detail::File>& file = detail::File::of(session);
    ai_import argument{};

    argument.kind = AI_IMPORT_USER;
    argument.address = reinterpret_cast<std::uintptr_t>(memory.data());
    argument.bytes = memory.size();
    argument.perm = static_cast<std::uint32_t>(access);
    if (Result<void> result = file->call(AI_IMPORT, "AI_IMPORT", argument); !result)
        return std::move(result).error();
    return std::shared_ptr<Buffer>(new Buffer(file, LogicalAddress(argument.la), memory,
                                              static_cast<Cache>(argument.cache),
                                              Origin::kProcessMemory, false, true));
}

Result<UniqueFd> Buffer::share(const ShareOptions& options) const
{
    ai_export argument{};

    argument.hdr.flags = options.read_only ? AI_EXPORT_READ_ONLY : 0;
    argument.la = static_cast<std::uint64_t>(address_);
    argument.offset = options.offset.count();
    argument.bytes = options.size.count();
    if (Result<void> result = file_->call(AI_EXPORT, "AI_EXPORT", argument); !result)
        return std::move(result).error();
    return UniqueFd(argument.fd);
}

Result<void> Buffer::sync(std::uint32_t flags, std::int64_t timeout_ns) const
{
    ai_sync argument{};

    argument.hdr.flags = flags;
    argument.la = static_cast<std::uint64_t>(address_);
    argument.timeout_ns = timeout_ns;
    return file_->call(AI_SYNC, "AI_SYNC", argument);
}

Result<CpuUse> Buffer::use(Access access, Nanoseconds timeout) const
{
    Result<void> result =
        sync(static_cast<std::uint32_t>(access), detail::to_kernel_timeout(timeout));

    if (!result)
        return std::move(result).error();
    return CpuUse(*this, access);
}

CpuUse::CpuUse(CpuUse&& other) noexcept
    : buffer_(std::exchange(other.buffer_, nullptr)), access_(other.access_)
{
}

CpuUse& CpuUse::operator=(CpuUse&& other) noexcept
{
    if (this != &other) {
        static_cast<void>(end().has_value());
        buffer_ = std::exchange(other.buffer_, nullptr);
        access_ = other.access_;
    }
    return *this;
}

CpuUse::~CpuUse()
{
    static_cast<void>(end().has_value());
}

Result<void> CpuUse::end()
{
    const Buffer* buffer = std::exchange(buffer_, nullptr);

    if (!buffer)
        return {};
    return buffer->sync(static_cast<std::uint32_t>(access_) | AI_SYNC_END, 0);
}

} // namespace ai
