<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Exception;

/** A file of your own machine cannot be read or written. */
final class LocalFileException extends \RuntimeException implements SandlotException
{
}
