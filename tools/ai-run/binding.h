/* SPDX-License-Identifier: Apache-2.0 */
/* From the command line to the inputs and outputs of a model. */
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ai/model.h>

#include "host_tensor.h"
#include "options.h"

namespace ai_run {

/* One tensor for each input of the model, and where each came from, for people. */
struct Inputs {
    std::vector<HostTensor> tensors;
    std::vector<std::string> sources;
};

/*
 * EINVAL when an input is given twice, not at all, or none of that name exists.
 */
ai::Result<Inputs> bind_inputs(std::span<const ai::TensorInfo> infos, const Options& options);

/* For each output the file to write, or nothing. */
ai::Result<std::vector<std::optional<std::string>>>
bind_outputs(std::span<const ai::TensorInfo> infos, const Options& options);

/* What is behind the name's last point: "pb", "npy" or "raw", else EINVAL. */
ai::Result<void> write_tensor(const std::string& path, const HostTensor& tensor);

} // namespace ai_run
