<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

if (!is_file(__DIR__ . '/src/Model/Operation.php')) {
    throw new RuntimeException('Classes of the API are missing: run ' . __DIR__ . '/bin/generate');
}
// For programs without Composer: this package, and the PSR interfaces where Debian's packages have them.
spl_autoload_register(static function (string $class): void {
    foreach (['Sandlot\\' => __DIR__ . '/src/', 'Psr\\' => '/usr/share/php/Psr/'] as $prefix => $folder) {
        $file = $folder . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
        if (str_starts_with($class, $prefix) && is_file($file)) {
            require $file;
        }
    }
});
