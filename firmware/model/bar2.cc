// SPDX-License-Identifier: GPL-2.0-only
#include "bar2.h"

#include <algorithm>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>

namespace ai0::npu {

namespace {

void set_text(std::span<char> to, std::string_view text)
{
    std::size_t n = std::min(text.size(), to.size() - 1);

    std::memset(to.data(), 0, to.size());
    std::memcpy(to.data(), text.data(), n);
}

} // namespace

/* Sealed: nobody who holds the descriptor can take pages away under the others. */
Bar2::Bar2(std::uint64_t bytes)
    : fd_(::memfd_create("ai0-npu-bar2", MFD_CLOEXEC | MFD_ALLOW_SEALING))
{
    if (!fd_ || ::ftruncate(fd_.get(), static_cast<off_t>(bytes)) ||
        ::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
        return;
    mapping_ = Mapping(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
}

void Bar2::set_product(std::string_view text) const
{
    set_text(regs()->product, text);
}

void Bar2::set_engine(std::string_view text) const
{
    set_text(regs()->engine, text);
}

} // namespace ai0::npu
