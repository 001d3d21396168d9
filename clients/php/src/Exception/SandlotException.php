<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Exception;

/** All exceptions about the service. For a mistake in your program, the library throws a \LogicException. */
interface SandlotException extends \Throwable
{
}
