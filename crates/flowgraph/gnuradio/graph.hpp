// The seed's graph: pipes of source, head, stages and sink.
#pragma once

#include "settings.hpp"

#include <nlohmann/json.hpp>

// Performs one trial: runs the graph once and answers as dropline-futuresdr does.
nlohmann::json perform(const Settings& settings, const nlohmann::json& request);
