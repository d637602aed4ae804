/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * BAR2: registers, firmware log, load window and device memory in one memfd that
 * the slot, the silicon and QEMU share.
 *
 * The guest can write all of it at any time. So the device never takes back what
 * it wrote there, and reads what the driver writes exactly once.
 */
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "address.h"
#include "npu_mmio.h"
#include "posix.h"

namespace ai0::npu {

inline constexpr std::uint64_t kLogOffset = 0x10000;
inline constexpr std::uint64_t kLogBytes = NPU_CORE_LOG_BYTES;
inline constexpr std::uint64_t kLoadOffset = 0x100000;
inline constexpr std::uint64_t kLoadBytes = 0x200000;
inline constexpr std::uint64_t kMemOffset = 0x1000000;

class Bar2 {
public:
    /* Empty (false) if the memory cannot be had. */
    explicit Bar2(std::uint64_t bytes);

    explicit operator bool() const { return fd_ && mapping_; }
    int fd() const { return fd_.get(); }
    std::uint64_t mem_bytes() const { return mapping_.size() - kMemOffset; }

    std::span<std::byte> log() const { return mapping_.bytes().subspan(kLogOffset, kLogBytes); }
    std::span<std::byte> load() const { return mapping_.bytes().subspan(kLoadOffset, kLoadBytes); }
    std::span<std::byte> memory() const { return mapping_.bytes().subspan(kMemOffset); }

    template <typename T> void set(T npu_regs::*reg, T value) const
    {
        std::atomic_ref<T>(regs()->*reg).store(value, std::memory_order_release);
    }

    template <typename T> T get(T npu_regs::*reg) const
    {
        return std::atomic_ref<T>(regs()->*reg).load(std::memory_order_acquire);
    }

    void set_product(std::string_view text) const;
    void set_engine(std::string_view text) const;

private:
    npu_regs* regs() const { return reinterpret_cast<npu_regs*>(mapping_.data()); }

    UniqueFd fd_;
    Mapping mapping_;
};

} // namespace ai0::npu
