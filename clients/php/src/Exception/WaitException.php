<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Exception;

/** What was waited for did not happen in the time that was given. */
final class WaitException extends \RuntimeException implements SandlotException
{
}
