<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

enum ApprovalAnswer: string
{
    case Once = 'once';
    case Minutes = 'minutes';
    case Always = 'always';
    case Never = 'never';
}
