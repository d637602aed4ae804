/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor in ordinary memory, as it comes out of a file or goes into one. */
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <ai/dtype.h>
#include <ai/result.h>
#include <ai/shape.h>
#include <ai/tensor.h>

namespace ai_run {

struct HostTensor {
    std::string name; /* empty if the file does not say */
    ai::DType dtype = ai::DType::kUndefined;
    ai::Shape shape;
    /* Elements as in ai::Tensor; for strings the table and the characters. */
    std::vector<std::byte> data;
};

/* EINVAL unless @tensor.data has the size that element type and shape ask for. */
ai::Result<void> check_size(const HostTensor& tensor, const std::string& where);

/* The whole of a file. */
ai::Result<std::vector<std::byte>> read_file(const std::string& path);

ai::Result<void> write_file(const std::string& path, std::span<const std::byte> data);

/* Into memory that the device sees, and back. */
ai::Result<ai::Tensor> to_device(const ai::Session& session, const HostTensor& tensor);
HostTensor from_device(const ai::Tensor& tensor, const std::string& name);

} // namespace ai_run
