/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The boot ROM: decides whether the image in the load window may run.
 */
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../image/signing.h"
#include "npu_mmio.h"

namespace ai0::npu {

struct BootResult {
    npu_boot_error error = NPU_BOOT_OK;
    std::uint32_t found = 0;
    std::uint32_t needed = 0;
    /* With NPU_BOOT_OK: */
    std::vector<std::byte> code;
    std::uint64_t load_addr = 0;
    std::uint64_t entry = 0;
};

/*
 * Checks size, magic, header version, interface, profile, digest, key and
 * signature, in that order. @window can change at any time; what is checked is
 * a copy, and the copy is what runs. @key may be null: then no image is trusted.
 */
BootResult boot_rom_check(std::span<const std::byte> window, std::uint64_t image_bytes,
                          npu_profile profile, const Key* key);

} // namespace ai0::npu
