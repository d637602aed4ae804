/* SPDX-License-Identifier: Apache-2.0 */
/* How infer() reads a tensor for the kernel and notes what the kernel says of it. */
#pragma once

#include <ai/tensor.h>
#include <ai/uapi/ai.h>

namespace ai::detail {

struct TensorAccess {
    static ai_tensor to_kernel(const Tensor& tensor, Bytes bytes);

    /* Element type, shape and size of what the device wrote. */
    static void set_result(Tensor& tensor, const ai_tensor& from);
    static void set_needed(Tensor& tensor, Bytes needed) { tensor.needed_ = needed; }
};

} // namespace ai::detail
