/* SPDX-License-Identifier: Apache-2.0 */
/* Cases through /dev/ai0. */
#pragma once

#include <ai/session.h>

#include "engine.h"

namespace ai_run {

class AiEngine final : public Engine {
public:
    AiEngine(ai::Session session, ai::DeviceId device, ai::Nanoseconds timeout);

    ai::Result<std::unique_ptr<Model>> load(const std::string& path) override;

private:
    ai::Session session_;
    ai::DeviceId device_;
    ai::Nanoseconds timeout_;
};

} // namespace ai_run
