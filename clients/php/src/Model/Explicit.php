<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Model;

/** Sends null in a request. A plain null leaves the member out. */
enum Explicit implements \JsonSerializable
{
    case Null;

    public function jsonSerialize(): mixed
    {
        return null;
    }
}
