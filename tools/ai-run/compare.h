/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a result is what was expected, as the ONNX backend suite sees it. */
#pragma once

#include <optional>
#include <string>

#include "host_tensor.h"

namespace ai_run {

/* What the suite's loader takes when a case states nothing else. */
struct Tolerance {
    double relative = 1e-3;
    double absolute = 1e-7;
};

/*
 * Nothing if @actual has the element type and shape of @expected and each element
 * satisfies |actual - expected| <= absolute + relative * |expected|; NaN equals NaN,
 * an infinity equals itself, strings are equal byte by byte. Else why not.
 */
std::optional<std::string> difference(const HostTensor& expected, const HostTensor& actual,
                                      const Tolerance& tolerance = {});

} // namespace ai_run
