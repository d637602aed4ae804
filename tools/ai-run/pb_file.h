/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX TensorProto files (.pb). */
#pragma once

#include <string>
#include <vector>

#include "host_tensor.h"

namespace ai_run {

/*
 * EBADMSG for what is no TensorProto or does not hold what it says, EOPNOTSUPP for
 * element types that ai0 does not have and for data in other files.
 */
ai::Result<HostTensor> parse_pb(std::span<const std::byte> file, const std::string& where);
ai::Result<HostTensor> read_pb(const std::string& path);

ai::Result<std::vector<std::byte>> format_pb(const HostTensor& tensor);
ai::Result<void> write_pb(const std::string& path, const HostTensor& tensor);

/* What an ONNX model itself says of its inputs and outputs. */
struct GraphNames {
    std::vector<std::string> inputs; /* with those that have initialisers */
    std::vector<std::string> outputs;
};

ai::Result<GraphNames> read_graph_names(const std::string& model_path);

} // namespace ai_run
