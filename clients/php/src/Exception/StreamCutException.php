<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Exception;

/** A stream ended without its last message: the sandbox was paused or removed, or the connection broke. */
final class StreamCutException extends \RuntimeException implements SandlotException
{
}
