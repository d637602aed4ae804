/* SPDX-License-Identifier: Apache-2.0 */
/* Models through /dev/ai0. */
#pragma once

#include <ai/session.h>

#include "runner.h"

namespace ai_ocr {

class Ai0Runner final : public Runner {
public:
    /* @device: a name, or "any". */
    static ai::Result<std::unique_ptr<Runner>> open(const std::string& device,
                                                    ai::Nanoseconds timeout);

    ai::Result<std::unique_ptr<RunnerModel>> load(const std::string& path) override;

private:
    Ai0Runner(ai::Session session, ai::DeviceId device, ai::Nanoseconds timeout);

    ai::Session session_;
    ai::DeviceId device_;
    ai::Nanoseconds timeout_;
};

} // namespace ai_ocr
