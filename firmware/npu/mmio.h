/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Access to the registers of the units, and environment calls.
 */
#pragma once

#include "npu_mmio.h"

namespace npu {

using u8 = __u8;
using u16 = __u16;
using u32 = __u32;
using u64 = __u64;

inline u32 reg_read(u32 reg)
{
    return *reinterpret_cast<volatile u32*>(static_cast<unsigned long>(NPU_CORE_MMIO) + reg);
}

inline void reg_write(u32 reg, u32 value)
{
    *reinterpret_cast<volatile u32*>(static_cast<unsigned long>(NPU_CORE_MMIO) + reg) = value;
}

inline u64 reg_read_pair(u32 low)
{
    return reg_read(low) | static_cast<u64>(reg_read(low + 4)) << 32;
}

inline void reg_write_pair(u32 low, u64 value)
{
    reg_write(low, static_cast<u32>(value));
    reg_write(low + 4, static_cast<u32>(value >> 32));
}

template <unsigned long number> inline void ecall()
{
    register unsigned long a7 asm("a7") = number;
    asm volatile("ecall" : : "r"(a7) : "memory");
}

/* Stops the core until something is pending. */
inline void wait()
{
    ecall<NPU_ECALL_WAIT>();
}

[[noreturn]] inline void halt()
{
    for (;;)
        ecall<NPU_ECALL_HALT>();
}

inline void irq_raise(u32 vector)
{
    reg_write(NPU_SYS_IRQ, vector);
}

/* The job RAM and the info RAM are written by the units while the core does not look. */
inline npu_unit_job& job_ram(u32 slot)
{
    return reinterpret_cast<npu_unit_job*>(static_cast<unsigned long>(NPU_CORE_JOB_RAM))[slot];
}

inline npu_unit_info& info_ram(u32 slot)
{
    return reinterpret_cast<npu_unit_info*>(static_cast<unsigned long>(NPU_CORE_INFO_RAM))[slot];
}

} // namespace npu
