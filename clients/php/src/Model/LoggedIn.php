<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class LoggedIn
{
    public function __construct(
        public readonly User $user,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            user: $fields->object('user', User::read(...)),
        );
    }
}
