/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy files, versions 1.0 to 3.0. */
#pragma once

#include <span>
#include <string>

#include "host_tensor.h"

namespace ai_run {

/*
 * Numbers and booleans, little-endian, C order. EBADMSG for what is no such file or
 * is cut short, EOPNOTSUPP for other element types (text, records, objects), byte
 * orders and Fortran order. @where names the file in sentences.
 */
ai::Result<HostTensor> parse_npy(std::span<const std::byte> file, const std::string& where);
ai::Result<HostTensor> read_npy(const std::string& path);

/* EOPNOTSUPP for strings and bfloat16, for which NumPy has no type of its own. */
ai::Result<std::vector<std::byte>> format_npy(const HostTensor& tensor);
ai::Result<void> write_npy(const std::string& path, const HostTensor& tensor);

} // namespace ai_run
