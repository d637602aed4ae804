/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The bus DMA engine: the only way from the core to system memory. Each call
 * returns false when a part of the range is not there; nothing was moved then.
 */
#pragma once

#include "mmio.h"

namespace npu {

class Dma {
public:
    static bool read(u64 bus, void* to, u32 bytes) { return go(bus, to, bytes, NPU_DMA_READ); }
    static bool write(u64 bus, const void* from, u32 bytes)
    {
        return go(bus, from, bytes, NPU_DMA_WRITE);
    }
    static bool check(u64 bus, u32 bytes) { return go(bus, nullptr, bytes, NPU_DMA_CHECK); }

private:
    static bool go(u64 bus, const void* local, u32 bytes, u32 op)
    {
        /* What the core wrote before is in its memory before the engine looks. */
        asm volatile("fence" : : : "memory");
        reg_write_pair(NPU_DMA_BUS_LO, bus);
        reg_write(NPU_DMA_LOCAL, static_cast<u32>(reinterpret_cast<unsigned long>(local)));
        reg_write(NPU_DMA_BYTES, bytes);
        reg_write(NPU_DMA_GO, op);
        asm volatile("fence" : : : "memory");
        return reg_read(NPU_DMA_STATUS) == 0;
    }
};

} // namespace npu
