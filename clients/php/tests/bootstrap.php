<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

require __DIR__ . '/../autoload.php';
require __DIR__ . '/ServiceTestCase.php';
foreach (['Document', 'Names', 'Type', 'Schema', 'ClassText', 'EnumText', 'Generator'] as $class) {
    require_once __DIR__ . "/../generator/{$class}.php";
}
