<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Exception;

/** A wait timed out: waitUntilReady() or waitUntilBuilt(). */
final class WaitException extends \RuntimeException implements SandlotException
{
}
