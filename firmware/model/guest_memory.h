/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System memory as the device reaches it by DMA: the file behind the guest's
 * memory, mapped when it is needed first, because QEMU makes it after the device.
 */
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "address.h"
#include "posix.h"

namespace ai0::npu {

class GuestMemory {
public:
    /* @lowmem bytes are below 4 GiB, the rest begins there. */
    GuestMemory(std::string path, std::uint64_t bytes, std::uint64_t lowmem);

    /* The bytes of a range, or an empty span if a part of it is not there. */
    std::span<std::byte> window(BusAddress address, std::uint64_t bytes);

    /* Where in the file a range is, if all of it is memory. */
    std::optional<std::uint64_t> file_offset(BusAddress address, std::uint64_t bytes) const;

    /* The file, or -1 while it cannot be opened. */
    int fd();

    /*
     * Copies in order, so that who sees the last byte sees all. Words of 4 and 8
     * bytes at their alignment are read and written in one piece.
     */
    bool read(BusAddress from, std::span<std::byte> to);
    bool write(BusAddress to, std::span<const std::byte> from);

private:
    bool open();

    const std::string path_;
    const std::uint64_t bytes_;
    const std::uint64_t lowmem_;
    std::mutex mutex_;
    UniqueFd fd_;
    Mapping mapping_;
    std::atomic<std::byte*> base_{nullptr};
    bool reported_ = false;
};

} // namespace ai0::npu
