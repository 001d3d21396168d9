<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class AnswerDevice implements \JsonSerializable
{
    /** @param string|null $password Of a sign-in: the user's password, so that the key does not end with the sign-in. */
    public function __construct(
        public readonly bool $approve,
        public readonly ?string $password = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'approve' => $this->approve,
            'password' => $this->password,
        ]);
    }
}
