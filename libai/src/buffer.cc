/* SPDX-License-Identifier: Apache-2.0 */
#include <ai/buffer.h>

#include <ai/contract.h>

#include "file.h"

namespace ai {

static_assert(static_cast<std::uint32_t>(Access::kReadWrite) == (AI_PERM_READ | AI_PERM_WRITE));
static_assert(static_cast<std::uint32_t>(Cache::kWriteCombine) == AI_CACHE_WRITECOMBINE);

Result<std::shared_ptr<Buffer>> Buffer::allocate(const Session& session, Bytes size,
                                                 const AllocOptions& options)
{
    const std::shared_ptr<detail::File>& file = detail::File::of(session);
    ai_alloc argument{};

    argument.hdr.flags = AI_ALLOC_MAP;
    argument.bytes = size.count();
    argument.device = static_cast<std::uint32_t>(options.home);
    argument.perm = static_cast<std::uint32_t>(options.access);
    argument.cache = static_cast<std::uint32_t>(options.cache);
    if (options.contract) {
        argument.hdr.flags |= AI_ALLOC_CONTRACT;
        argument.contract = options.contract->fd();
    }
    if (Result<void> result = file->call(AI_ALLOC, "AI_ALLOC", argument); !result)
        return std::move(result).error();

    // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel says where it mapped the pages
    auto* data = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(argument.address));
    return std::shared_ptr<Buffer>(
        new Buffer(file, LogicalAddress(argument.la), {data, argument.bytes},
                   static_cast<Cache>(argument.cache), Origin::kAllocated, true, true));
}

Buffer::Buffer(std::shared_ptr<detail::File> file, LogicalAddress address,
               std::span<std::byte> data, Cache cache, Origin origin, bool mapped, bool writable)
    : file_(std::move(file)), address_(address), data_(data), cache_(cache), origin_(origin),
      mapped_(mapped), writable_(writable)
{
}

Buffer::~Buffer()
{
    ai_free argument{};

    /* What was allocated is unmapped by the call itself; all else is not a mapping of its. */
    bool one_call = mapped_ && origin_ == Origin::kAllocated;
    if (one_call)
        argument.hdr.flags = AI_FREE_UNMAP;
    argument.la = static_cast<std::uint64_t>(address_);
    argument.address = one_call ? reinterpret_cast<std::uintptr_t>(data_.data()) : 0;
    if (mapped_ && !one_call)
        file_->syscalls().unmap(data_);
    /* Cannot fail for what the kernel gave; closing the file frees it in any case. */
    static_cast<void>(file_->call(AI_FREE, "AI_FREE", argument).has_value());
}

} // namespace ai
