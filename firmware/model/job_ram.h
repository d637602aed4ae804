/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory between firmware and units: what the firmware wants done, and what came
 * of it.
 */
#pragma once

#include "npu_mmio.h"
#include "posix.h"

namespace ai0::npu {

static_assert(sizeof(npu_unit_job) == 16384);
static_assert(sizeof(npu_unit_info) == 32768);
static_assert(NPU_JOB_DESC_BYTES <= sizeof(npu_unit_job::desc));

class JobRam {
public:
    explicit operator bool() const { return jobs_ && infos_; }

    npu_unit_job& job(std::uint32_t slot) const
    {
        return reinterpret_cast<npu_unit_job*>(jobs_.data())[slot % NPU_JOB_SLOTS];
    }
    npu_job_desc& desc(std::uint32_t slot) const
    {
        return *reinterpret_cast<npu_job_desc*>(job(slot).desc);
    }
    npu_unit_info& info(std::uint32_t slot) const
    {
        return reinterpret_cast<npu_unit_info*>(infos_.data())[slot % NPU_COMPILE_SLOTS];
    }

    std::span<std::byte> jobs() const { return jobs_.bytes(); }
    std::span<std::byte> infos() const { return infos_.bytes(); }

private:
    Mapping jobs_ = Mapping::anonymous(NPU_JOB_SLOTS * sizeof(npu_unit_job));
    Mapping infos_ = Mapping::anonymous(NPU_COMPILE_SLOTS * sizeof(npu_unit_info));
};

} // namespace ai0::npu
