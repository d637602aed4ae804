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
    return std::shared_ptr<Buffer>(new Buffer(file, LogicalAddress(argument.la),
                                              {data, argument.bytes},
                                              static_cast<Cache>(argument.cache)));
}

Buffer::Buffer(std::shared_ptr<detail::File> file, LogicalAddress address,
               std::span<std::byte> data, Cache cache)
    : file_(std::move(file)), address_(address), data_(data), cache_(cache)
{
}

Buffer::~Buffer()
{
    ai_free argument{};

    argument.hdr.flags = AI_FREE_UNMAP;
    argument.la = static_cast<std::uint64_t>(address_);
    argument.address = reinterpret_cast<std::uintptr_t>(data_.data());
    /* Cannot fail for what AI_ALLOC gave; closing the file frees it in any case. */
    static_cast<void>(file_->call(AI_FREE, "AI_FREE", argument).has_value());
}

} // namespace ai
