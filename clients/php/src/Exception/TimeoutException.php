<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Exception;

/** The time-out ran out first. What was asked for may have happened. */
final class TimeoutException extends ConnectionException
{
}
