<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Exception;

/** The request timed out. The service may have made the change. */
final class TimeoutException extends ConnectionException
{
}
