<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Exception\Api;

use Sandlot\Exception\ApiException;

/** The service refused with “hook_failed”. */
final class HookFailedException extends ApiException
{
}
