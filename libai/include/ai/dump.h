/* SPDX-License-Identifier: Apache-2.0 */
/* All that the kernel knows of a device at one moment, for who looks into a failure. */
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ai/export.h>
#include <ai/result.h>
#include <ai/session.h>
#include <ai/types.h>

namespace ai {

/*
 * A dump in the format of <ai/uapi/ai_dump.h>, which never has tensor data in it. Root
 * gets everything; others what is theirs, see Documentation/dump.md. With @job the
 * tensors of that job are in it, else those of all jobs that the device is working on.
 * ENOENT: there is no such device or job. Blocks for as long as reading the device takes.
 */
LIBAI_API Result<std::vector<std::byte>> dump(const Session& session, DeviceId device,
                                              std::uint64_t job = 0);

} // namespace ai
